import type { VoiceConfig, VoiceConfigChange } from '../../../../shared/contract/ai/voice.ts';

const withoutUndefined = <Part extends object>(part: Part) =>
  Object.fromEntries(Object.entries(part).filter(([, value]) => value !== undefined)) as {
    [Key in keyof Part]: Exclude<Part[Key], undefined>;
  };

/** What holds after a change: what it leaves out stays as it is. */
export const mergeConfig = (
  config: VoiceConfig,
  { turnDetection = {}, ...change }: VoiceConfigChange,
): VoiceConfig => ({
  ...config,
  ...withoutUndefined(change),
  turnDetection: { ...config.turnDetection, ...withoutUndefined(turnDetection) },
});
