import { toStorableText } from '../../../../shared/json.ts';
import { filterAnswer } from '../../../platform/inference/answer-filter.ts';
import { withoutKeys } from './keys.ts';
import type { Prompt } from './prompt.ts';

/** What may be shown of a model's answer to a prompt: no picture, no tag, no address that was not given, no key. Tools there are none, so what calls one is text. */
export const readAnswer = (prompt: Pick<Prompt, 'addresses'>, answer: string): string =>
  withoutKeys(filterAnswer(toStorableText(answer), prompt.addresses)).trim();
