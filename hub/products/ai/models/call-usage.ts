import type { InferenceError, InferenceRequest } from '../../../platform/inference/inference.ts';
import { estimateTokens } from '../../../platform/inference/token-estimate.ts';
import type { Tokens } from '../usage/index.ts';

/** Usage of a model call. */
export interface CallUsage {
  usage: Tokens;
  /** Whether `usage` is an estimate of the hub, which tends to be too high. */
  isEstimated: boolean;
}

type Prompt = Pick<InferenceRequest, 'instructions' | 'messages'>;

/** Errors after the model received the question. Most providers charge for such a call. */
const chargedFailures: ReadonlySet<InferenceError['kind']> = new Set([
  'stalled_before_first_part',
  'stalled_after_first_part',
  'timeout',
]);

/** Upper estimate of the tokens of a prompt. */
export const promptTokens = ({ instructions, messages }: Prompt): number =>
  messages.reduce((sum, { content }) => sum + estimateTokens(content), estimateTokens(instructions));

/**
 * The usage as reported by the provider, otherwise an estimate. A model that was not reached or refused the call used
 * nothing.
 * @param error null for an answered call, and for a call that the caller aborted.
 */
export function usageOfCall(
  prompt: Prompt,
  text: string,
  reported: Tokens | null,
  error: InferenceError | null,
): CallUsage {
  const usage = reported ?? error?.usage ?? null;
  if (usage !== null && usage.inputTokens + usage.outputTokens > 0) return { usage, isEstimated: false };
  if (error !== null && text === '' && !chargedFailures.has(error.kind))
    return { usage: { inputTokens: 0, outputTokens: 0 }, isEstimated: false };
  return { usage: { inputTokens: promptTokens(prompt), outputTokens: estimateTokens(text) }, isEstimated: true };
}
