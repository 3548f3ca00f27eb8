import type { VoiceConfig, VoiceConfigChange } from '../../../../shared/contract/ai/voice.ts';

const given = <Part extends object>(part: Part) =>
  Object.fromEntries(Object.entries(part).filter(([, value]) => value !== undefined)) as {
    [Key in keyof Part]: Exclude<Part[Key], undefined>;
  };

/** What holds after a change: what it leaves out stays as it is. */
export const changedConfig = (
  config: VoiceConfig,
  { turnDetection = {}, ...change }: VoiceConfigChange,
): VoiceConfig => ({
  ...config,
  ...given(change),
  turnDetection: { ...config.turnDetection, ...given(turnDetection) },
});
