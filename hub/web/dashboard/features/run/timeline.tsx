import { visibleLine } from '../../../../../shared/visible-text.ts';
import { background } from '../../../../../shared/web/background.ts';
import { useLanguage } from '../../app/language.tsx';
import { useMediaQuery } from '../../app/use-media-query.ts';
import { Card } from '../../ui/layout.tsx';
import { useNodeNames } from '../../ui/object-links.tsx';
import { LaneArtifacts, useArtifacts } from './artifacts.tsx';
import { LaneRow } from './lane.tsx';
import { useStepName } from './names.tsx';
import type { Run, StepResult } from './run-model.ts';
import { ticksOf } from './timeline-model.ts';
import type { Timeline as TimelineModel } from './timeline-model.ts';

/** The second line of a lane: what the step does, where, and its attempts. */
function useStepNote(run: Run): (step: StepResult) => string {
  const { words, format } = useLanguage();
  const types: Record<string, string> = words.run.stepTypes;
  const stepName = useStepName();
  const nodes = useNodeNames(run.stepsResultJson.some(({ commands }) => commands.length > 0));
  return (step) => {
    const does = visibleLine(step.skillId ?? types[step.type] ?? step.type);
    // A step without a name is named for what it does.
    const parts = does === stepName(step) ? [] : [does];
    const nodeId = step.commands.at(-1)?.nodeId;
    const node = nodeId === undefined ? undefined : nodes.get(nodeId);
    if (node !== undefined) parts.push(node);
    if (step.attempts > 1)
      parts.push(
        step.retry === null
          ? format(words.run.attempt, { count: step.attempts })
          : format(words.run.attemptOf, { count: step.attempts, max: step.retry.maxAttempts }),
      );
    if (step.status === 'pending') parts.push(words.run.notStarted);
    return parts.join(' · ');
  };
}

/** Whole seconds, minutes, hours or days: a fold has little room. */
const rounded = (ms: number) =>
  [86_400_000, 3_600_000, 60_000, 1_000].map((unit) => Math.floor(ms / unit) * unit).find((whole) => whole > 0) ?? ms;

const percent = (part: number) => `${(part * 100).toFixed(3)}%`;

function Axis({ timeline }: { timeline: TimelineModel }) {
  const { duration, words } = useLanguage();
  const isNarrow = useMediaQuery('(max-width: 767px)');
  const folds = timeline.stretches.filter(({ isFold }) => isFold);
  // A fold at the end has its own label there.
  const hasEnd = timeline.stretches.at(-1)?.isFold === false;
  const lastPlace = hasEnd ? (isNarrow ? 0.5 : 0.75) : 1;
  return (
    <div className="flex items-center border-b px-4 py-2 text-xs text-text-muted md:grid md:grid-cols-[var(--name-column)_minmax(0,1fr)] md:gap-x-3">
      <span className="max-md:hidden">{words.run.step}</span>
      <div className="relative h-5 w-full max-md:ms-7">
        {ticksOf(timeline, isNarrow ? 0.3 : undefined)
          .filter(({ place }) => place <= lastPlace)
          .map(({ place, ms }) => (
            <span key={ms} className="absolute top-0.5 whitespace-nowrap" style={{ insetInlineStart: percent(place) }}>
              {ms === 0 ? '0' : duration(ms)}
            </span>
          ))}
        {hasEnd && <span className="absolute end-0 top-0.5 whitespace-nowrap">{duration(timeline.totalMs)}</span>}
        {folds.map(({ from, to, start, size }) => (
          <span
            key={from}
            title={words.run.fold}
            className="absolute top-0 grid h-5 place-items-center overflow-hidden rounded-sm bg-surface-muted whitespace-nowrap"
            style={{ insetInlineStart: percent(start), width: percent(size) }}
          >
            {duration(rounded(to - from))}
          </span>
        ))}
      </div>
    </div>
  );
}

/** The folded times, behind all lanes. */
function Folds({ timeline }: { timeline: TimelineModel }) {
  const folds = timeline.stretches.filter(({ isFold }) => isFold);
  return (
    <div
      aria-hidden
      className="pointer-events-none absolute inset-y-0 start-[calc(var(--name-column)+1.75rem)] end-4 max-md:start-11"
    >
      {folds.map(({ from, start, size }) => (
        <span
          key={from}
          className="absolute inset-y-0 border-x border-dashed bg-hover"
          style={{ insetInlineStart: percent(start), width: percent(size) }}
        />
      ))}
    </div>
  );
}

/** The steps of a run, each in its lane, on one axis of time. */
export function Timeline({
  run,
  timeline,
  artifacts,
  selected,
  onSelect,
}: {
  run: Run;
  timeline: TimelineModel;
  artifacts: ReturnType<typeof useArtifacts>;
  selected: number;
  onSelect: (index: number) => void;
}) {
  const { words, format } = useLanguage();
  const stepName = useStepName();
  const noteOf = useStepNote(run);
  const { byStep, missing, fetchNextPage, isFetchingNextPage } = artifacts;
  const onKeyDown = (event: React.KeyboardEvent<HTMLElement>) => {
    const by = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
    const { step } = (event.target as HTMLElement).dataset;
    if (by === undefined || step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const next = event.currentTarget.querySelector<HTMLButtonElement>(`[data-step="${Number(step) + by}"]`);
    if (next === null) return;
    event.preventDefault();
    next.focus();
    onSelect(Number(step) + by);
  };
  return (
    <Card className="self-start overflow-hidden [--name-column:min(16rem,36%)]">
      <h2 className="sr-only">{words.run.steps}</h2>
      <Axis timeline={timeline} />
      <div className="relative py-1.5">
        <Folds timeline={timeline} />
        <ol className="relative" onKeyDown={onKeyDown}>
          {timeline.lanes.map((lane) => {
            const { index } = lane.step;
            const own = byStep.get(index);
            return (
              <LaneRow
                key={index}
                lane={lane}
                name={stepName(lane.step)}
                note={noteOf(lane.step)}
                stretches={timeline.stretches}
                isSelected={index === selected}
                onSelect={onSelect}
              >
                {own === undefined ? null : <LaneArtifacts run={run} artifacts={own} onMore={() => onSelect(index)} />}
              </LaneRow>
            );
          })}
        </ol>
      </div>
      {missing > 0 && (
        <p className="border-t px-4 py-2 text-sm">
          <button
            type="button"
            className="text-accent hover:underline disabled:opacity-55"
            disabled={isFetchingNextPage}
            onClick={() => background(fetchNextPage())}
          >
            {format(words.run.earlierArtifacts, { count: missing })}
          </button>
        </p>
      )}
    </Card>
  );
}
