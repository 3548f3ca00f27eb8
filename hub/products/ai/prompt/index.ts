export { Answering } from './answering.ts';
export { readAnswer } from './answer.ts';
export { contextTokensOf } from './context-size.ts';
export { buildPrompt } from './prompt.ts';
export type { PromptParts } from './prompt.ts';
