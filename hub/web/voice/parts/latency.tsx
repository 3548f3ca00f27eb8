import type { VoiceLatency } from '../../../../shared/contract/ai/voice.ts';
import type { Language } from '../language.ts';

/** Consecutive stages of a turn. */
const stages = ['transcribe', 'firstText', 'firstAudio'] as const;

export interface LatencyProps {
  latency: VoiceLatency;
  firstSoundMs: number | null;
  language: Language;
}

/** Shows the duration of each stage of a turn. */
export function TurnLatency({ latency, firstSoundMs, language: { words, format } }: LatencyProps) {
  // The total time is not shown, because most of it is playback.
  const stageTimes = ([...stages, 'toFirstAudio'] as const).flatMap((name) => {
    const ms = latency[name];
    return ms === undefined ? [] : [{ name, label: words[name], ms }];
  });
  const times =
    firstSoundMs === null ? stageTimes : [...stageTimes, { name: 'heard', label: words.heard, ms: firstSoundMs }];
  // A turn without any completed stage has no times to show.
  if (stages.every((name) => latency[name] === undefined)) return null;
  return (
    <div class="latency" role="group" aria-label={words.latency}>
      <div class="bar" aria-hidden="true">
        {stages.map((name) => {
          const ms = latency[name];
          return ms === undefined ? null : <i key={name} class={name} style={{ flexGrow: ms }} />;
        })}
      </div>
      <dl>
        {times.map(({ name, label, ms }) => (
          <div key={name} class={name}>
            <dt>{label}</dt>
            <dd>{format(words.milliseconds, { count: ms })}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
