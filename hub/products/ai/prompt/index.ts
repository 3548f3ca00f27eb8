export { Answering } from './answering.ts';
export type { Question } from './answering.ts';
export { readAnswer } from './answer.ts';
export { contextTokensOf } from './context-size.ts';
export { withoutKeys } from './keys.ts';
export { buildPrompt } from './prompt.ts';
export type { PromptParts } from './prompt.ts';
export { tokensOfMessage, tokensOfQuoted, TokenBudget } from './token-budget.ts';
export { minContextTokens } from './context-size.ts';
