import type { InferenceError, InferenceRequest } from '../../../platform/inference/inference.ts';
import { estimateTokens } from '../../../platform/inference/token-estimate.ts';
import type { Tokens } from '../usage/index.ts';

/** What a call took of its provider. */
export interface Taken {
  usage: Tokens;
  /** Whether that is the hub's own estimate, rather too many. */
  isEstimated: boolean;
}

type Prompt = Pick<InferenceRequest, 'instructions' | 'messages'>;

/** Ends by which the hub hung up on a model that had its question: most providers charge for it all the same. */
const hungUp: ReadonlySet<InferenceError['kind']> = new Set([
  'stalled_before_first_part',
  'stalled_after_first_part',
  'timeout',
]);

/** At most the tokens of a prompt. */
export const promptTokens = ({ instructions, messages }: Prompt): number =>
  messages.reduce((sum, { content }) => sum + estimateTokens(content), estimateTokens(instructions));

/**
 * What a call took: as the provider says, and where it does not, because it was broken off or counts none, an estimate. A model that could not be reached or that refused took
 * nothing.
 * @param error null for a call that was answered, or whose caller went away.
 */
export function takenBy(prompt: Prompt, text: string, said: Tokens | null, error: InferenceError | null): Taken {
  const usage = said ?? error?.usage ?? null;
  if (usage !== null && usage.inputTokens + usage.outputTokens > 0) return { usage, isEstimated: false };
  if (error !== null && text === '' && !hungUp.has(error.kind))
    return { usage: { inputTokens: 0, outputTokens: 0 }, isEstimated: false };
  return { usage: { inputTokens: promptTokens(prompt), outputTokens: estimateTokens(text) }, isEstimated: true };
}
