import type { VoiceLatency } from '../../../../shared/contract/ai/voice.ts';
import type { Language } from '../language.ts';

/** Stages that follow one another. */
const stages = ['transcribe', 'firstText', 'firstAudio'] as const;

export interface LatencyProps {
  latency: VoiceLatency;
  firstSoundMs: number | null;
  language: Language;
}

/** How long each stage of a turn took. */
export function TurnLatency({ latency, firstSoundMs, language: { words, say } }: LatencyProps) {
  // Not the whole turn: for most of it somebody listens.
  const stageTimes = ([...stages, 'toFirstAudio'] as const).flatMap((name) => {
    const ms = latency[name];
    return ms === undefined ? [] : [{ name, label: words[name], ms }];
  });
  const times =
    firstSoundMs === null ? stageTimes : [...stageTimes, { name: 'heard', label: words.heard, ms: firstSoundMs }];
  // Of a turn that came to nothing there is nothing to tell.
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
            <dd>{say(words.milliseconds, { count: ms })}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
