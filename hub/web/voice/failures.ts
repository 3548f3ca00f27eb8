import type { Words } from './words/english.ts';

const failures: Readonly<Record<string, keyof Words>> = {
  inference_failed: 'modelFailed',
  speech_failed: 'speechFailed',
  ai_budget_used_up: 'budgetUsedUp',
  ai_binding_not_configured: 'notConfiguredTitle',
  rate_limited: 'tooMuch',
  voice_unknown: 'unknownVoice',
};

/** What a code of an error means for whoever talks; what went wrong in particular stands in the log of the hub. */
export const failureText = (code: string, words: Words): string => words[failures[code] ?? 'failed'];
