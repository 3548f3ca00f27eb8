import { Ban, Check, Clock, CornerDownRight, LoaderCircle, X } from 'lucide-react';
import { memo } from 'react';
import type { ReactNode } from 'react';
import { useLanguage } from '../../app/language.tsx';
import type { StepResult } from './run-model.ts';
import { placeOf, shownWait } from './timeline-model.ts';
import type { Lane, Segment, SegmentTone, Stretch } from './timeline-model.ts';

const icons: Record<StepResult['status'], { icon: typeof Check; className: string }> = {
  succeeded: { icon: Check, className: 'bg-success text-surface' },
  failed: { icon: X, className: 'bg-danger text-surface' },
  running: { icon: LoaderCircle, className: 'bg-accent text-on-accent *:animate-[spin_1.5s_linear_infinite]' },
  waiting_approval: { icon: Clock, className: 'bg-warning text-surface' },
  skipped: { icon: CornerDownRight, className: 'bg-surface-muted text-text-muted' },
  pending: { icon: Ban, className: 'bg-surface-muted *:hidden' },
};

export function StepIcon({ status }: { status: StepResult['status'] }) {
  const { words } = useLanguage();
  const { icon: Icon, className } = icons[status];
  return (
    <span
      role="img"
      aria-label={status === 'pending' ? words.run.notStarted : words.common.status[status]}
      className={`grid size-4.5 shrink-0 place-items-center rounded-full ${className}`}
    >
      <Icon size={11} strokeWidth={3} aria-hidden />
    </span>
  );
}

const tones: Record<SegmentTone, string> = {
  succeeded: 'bg-success',
  failed: 'bg-danger',
  running: 'bg-accent',
  wait: 'border border-warning text-warning',
};
/** Stripes mark time in which nothing worked, also for readers who see no colours. */
const stripes = 'repeating-linear-gradient(135deg, currentColor 0 5px, transparent 5px 10px)';
const percent = (part: number) => `${(part * 100).toFixed(3)}%`;

/** The texts of a lane: how long its step worked, and for what it waits now, or how long and for what it waited. */
export function useLaneText(): (lane: Lane) => string {
  const { duration, format, words } = useLanguage();
  const { waitingFor, approvalWords } = words.run;
  const sum = (segments: readonly Segment[]) => segments.reduce((ms, { from, to }) => ms + to - from, 0);
  return (lane) => {
    const { step, segments, isKept } = lane;
    if (isKept) return words.run.kept;
    if (step.status === 'skipped') return words.common.status.skipped;
    const work = segments.filter(({ tone }) => tone !== 'wait');
    const wait = shownWait(lane);
    const parts = work.length === 0 ? [] : [duration(sum(work))];
    if (wait !== null) {
      const { reason = 'approval', who = '' } = wait.segment;
      const text =
        reason === 'approval' && who !== '' ? format(approvalWords.waitingFor, { name: who }) : waitingFor[reason];
      parts.push(format(words.run.waited, { time: duration(wait.ms), reason: text }));
    }
    return parts.join(' · ');
  };
}

/** The bars of a step on the shared axis, with their text where there is room. */
function Track({ lane, stretches, text }: { lane: Lane; stretches: readonly Stretch[]; text: string }) {
  const { duration } = useLanguage();
  const places = lane.segments.map((segment) => ({
    segment,
    start: placeOf(stretches, segment.from),
    end: placeOf(stretches, segment.to),
  }));
  const start = places[0]?.start ?? 0;
  const end = Math.max(start, ...places.map((place) => place.end));
  // Behind the bars or before them, where there is room. Else, and for a wait, the text has a line of its own.
  const label =
    end < 0.62
      ? { insetInlineStart: `calc(${percent(Math.max(end, start + 0.012))} + 0.4rem)`, maxWidth: percent(0.97 - end) }
      : start > 0.25
        ? { insetInlineEnd: `calc(${percent(1 - start)} + 0.4rem)`, maxWidth: percent(start - 0.02) }
        : null;
  const hasOwnLine = label === null || lane.segments.some(({ tone }) => tone === 'wait');
  return (
    <div className="min-w-0 max-md:ms-7 md:self-center">
      <div className={`relative ${hasOwnLine ? 'h-4' : 'h-5.5'}`}>
        {places.map((place, index) => (
          <span
            key={index}
            title={duration(place.segment.to - place.segment.from)}
            className={`absolute top-1.5 h-2.5 min-w-1.5 rounded-full ${tones[place.segment.tone]}`}
            style={{
              insetInlineStart: `min(${percent(place.start)}, calc(100% - 0.375rem))`,
              width: percent(place.end - place.start),
              ...(place.segment.tone === 'wait' ? { backgroundImage: stripes } : {}),
            }}
          />
        ))}
        {label !== null && !hasOwnLine && (
          <span
            className="absolute top-0.5 truncate rounded-sm bg-surface px-1 text-xs leading-4.5 text-text-muted"
            style={label}
          >
            {text}
          </span>
        )}
      </div>
      {hasOwnLine && (
        <p className={`truncate text-xs leading-5 text-text-muted ${start > 0.4 ? 'text-end' : ''}`} title={text}>
          {text}
        </p>
      )}
    </div>
  );
}

interface LaneRowProps {
  lane: Lane;
  name: string;
  note: ReactNode;
  stretches: readonly Stretch[];
  isSelected: boolean;
  onSelect: (index: number) => void;
  children: ReactNode;
}

/**
 * One step: its name, its bars and its pictures. It renders only when its own values change: a run can have 200 steps, and
 * each key press of the reader selects another one.
 */
export const LaneRow = memo(function LaneRow({
  lane,
  name,
  note,
  stretches,
  isSelected,
  onSelect,
  children,
}: LaneRowProps) {
  const { index, status } = lane.step;
  const textOf = useLaneText();
  const isMuted = status === 'pending' || status === 'skipped' || lane.isKept;
  return (
    <li
      className={`relative px-4 py-1.5 md:grid md:grid-cols-[var(--name-column)_minmax(0,1fr)] md:gap-x-3 ${isSelected ? 'bg-accent-muted' : 'hover:bg-hover'}`}
    >
      <button
        type="button"
        data-step={index}
        aria-current={isSelected}
        onClick={() => onSelect(index)}
        className="flex w-full min-w-0 items-center gap-2.5 text-start after:absolute after:inset-0"
      >
        <StepIcon status={status} />
        <span className="min-w-0">
          <span className={`block truncate ${isMuted ? 'text-text-muted' : ''}`}>{name}</span>
          <span className="block truncate text-xs text-text-muted">{note}</span>
        </span>
      </button>
      <Track lane={lane} stretches={stretches} text={textOf(lane)} />
      {children !== null && <div className="relative z-1 min-w-0 max-md:ps-7 md:col-start-2">{children}</div>}
    </li>
  );
});
