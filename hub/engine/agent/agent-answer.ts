import { toStorableText } from '../../../shared/json.ts';
import { addressesIn, filterAnswer } from '../../platform/inference/answer-filter.ts';
import { parseTurn } from './agent-protocol.ts';
import type { ParsedTurn } from './agent-protocol.ts';
import type { ModelMessage } from './agent-state.ts';

/**
 * Parses an answer of a model. A final answer goes to users, so its pictures are removed. Its addresses are removed
 * too, except those in the instructions and in the messages to the model.
 */
export function readTurn(
  answer: string,
  instructions: string,
  messages: readonly ModelMessage[],
): { text: string; parsed: ParsedTurn } {
  const text = toStorableText(answer);
  const parsed = parseTurn(text);
  if (parsed.final === null) return { text, parsed };
  const userMessages = messages.filter(({ role }) => role === 'user').map(({ content }) => content);
  const allowedAddresses = addressesIn([instructions, ...userMessages]);
  return {
    text: filterAnswer(text, allowedAddresses),
    parsed: { ...parsed, final: filterAnswer(parsed.final, allowedAddresses) },
  };
}
