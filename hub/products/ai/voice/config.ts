import type { VoiceConfig, VoiceConfigChange } from '../../../../shared/contract/ai/voice.ts';

const withoutUndefined = <Part extends object>(part: Part) =>
  Object.fromEntries(Object.entries(part).filter(([, value]) => value !== undefined)) as {
    [Key in keyof Part]: Exclude<Part[Key], undefined>;
  };

/** Applies a change. Fields that the change leaves out keep their values. */
export const mergeConfig = (
  config: VoiceConfig,
  { turnDetection = {}, ...change }: VoiceConfigChange,
): VoiceConfig => ({
  ...config,
  ...withoutUndefined(change),
  turnDetection: { ...config.turnDetection, ...withoutUndefined(turnDetection) },
});
