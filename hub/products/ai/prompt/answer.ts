import { toStorableText } from '../../../../shared/json.ts';
import { filterAnswer } from '../../../platform/inference/answer-filter.ts';
import { withoutKeys } from './keys.ts';
import type { Prompt } from './prompt.ts';

/**
 * Filters the answer of a model: removes images, HTML tags, API keys and addresses that the prompt does not allow.
 * The model has no tools here, so a tool call in the answer is plain text.
 */
export const readAnswer = (prompt: Pick<Prompt, 'addresses'>, answer: string): string =>
  withoutKeys(filterAnswer(toStorableText(answer), prompt.addresses)).trim();
