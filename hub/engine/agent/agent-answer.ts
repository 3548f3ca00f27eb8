import { toStorableText } from '../../../shared/json.ts';
import { addressesIn, filterAnswer } from '../../platform/inference/answer-filter.ts';
import { parseTurn } from './agent-protocol.ts';
import type { ParsedTurn } from './agent-protocol.ts';
import type { SaidMessage } from './agent-state.ts';

/** What an answer to an agent says. Its end is for others: it shows no picture, and no address but those that the agent was given. */
export function readTurn(
  answer: string,
  instructions: string,
  messages: readonly SaidMessage[],
): { text: string; parsed: ParsedTurn } {
  const text = toStorableText(answer);
  const parsed = parseTurn(text);
  if (parsed.final === null) return { text, parsed };
  const told = messages.filter(({ role }) => role === 'user').map(({ content }) => content);
  const given = addressesIn([instructions, ...told]);
  return { text: filterAnswer(text, given), parsed: { ...parsed, final: filterAnswer(parsed.final, given) } };
}
