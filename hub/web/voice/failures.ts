import type { Words } from './words/english.ts';

const failures: Readonly<Record<string, keyof Words>> = {
  inference_failed: 'modelFailed',
  speech_failed: 'speechFailed',
  ai_budget_used_up: 'budgetUsedUp',
  ai_binding_not_configured: 'notConfiguredTitle',
  rate_limited: 'tooMuch',
  voice_unknown: 'unknownVoice',
};

/** Returns the text that the user sees for an error code. The hub's log has the details. */
export const failureText = (code: string, words: Words): string => words[failures[code] ?? 'failed'];
