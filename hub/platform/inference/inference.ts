import type { LanguageModelV4, LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { ModelProvider } from '../../../shared/contract/ai/models.ts';
import type { Egress } from '../egress/egress.ts';
import { filterRefused, InferenceError, toInferenceError } from './failure.ts';
import { RefusedParameters } from './refused-parameters.ts';
import { toTokenCount } from './token-count.ts';
import { completionToEvents } from './whole-completion.ts';

export { InferenceError } from './failure.ts';

/** Address, protocol and credentials of a model. */
export interface ModelBinding {
  provider: ModelProvider;
  /** Required for `openai-compatible`. Null for the provider's own address. */
  baseUrl: string | null;
  model: string;
  apiKey: string | null;
}

export interface InferenceMessage {
  role: 'user' | 'assistant';
  content: string;
}

export interface InferenceRequest {
  instructions: string;
  messages: readonly InferenceMessage[];
  maxOutputTokens?: number | undefined;
  signal: AbortSignal;
}

/** The result at the end of an answer. */
export interface InferenceEnd {
  /** As counted by the provider, in integers; 0 when unknown. */
  usage: { inputTokens: number; outputTokens: number };
  /** Whether the answer reached the limit of output tokens. */
  truncated: boolean;
}

export interface InferenceAnswer extends InferenceEnd {
  text: string;
}

export interface Inference {
  /**
   * Calls a model once, without retries. Yields the non-empty parts of the text as they arrive, and returns the usage
   * at the end. The connection closes when the caller stops early, by `return` or by the signal.
   * @throws InferenceError, or the signal's reason.
   */
  stream(binding: ModelBinding, request: InferenceRequest): AsyncGenerator<string, InferenceEnd, undefined>;
}

const maxResponseBytes = 8 * 1024 * 1024;
/** Limit of the text of an answer. The longest answer that the hub requests is a fraction of it. */
const maxCharacters = 512 * 1024;
/** Time limits of one request, in milliseconds. */
export interface InferenceLimits {
  connectTimeoutMs: number;
  firstByteTimeoutMs: number;
  idleTimeoutMs: number;
  /** The signal of the caller usually aborts earlier. */
  timeoutMs: number;
}

const defaultLimits: InferenceLimits = {
  connectTimeoutMs: 5_000,
  firstByteTimeoutMs: 8_000,
  idleTimeoutMs: 10_000,
  timeoutMs: 120_000,
};

/**
 * A fetch function for the AI SDK that sends requests through the egress guard. It repeats a request without a
 * parameter that the model refused.
 */
function guardedFetch(egress: Egress, limits: InferenceLimits): typeof fetch {
  const refused = new RefusedParameters();
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    const send = (body: string | undefined) =>
      egress.stream(url, {
        method: init?.method === 'POST' ? 'POST' : 'GET',
        headers: Object.fromEntries(new Headers(init?.headers)),
        ...(body === undefined ? {} : { body }),
        signal: init?.signal ?? AbortSignal.timeout(limits.timeoutMs),
        maxResponseBytes,
        ...limits,
      });
    const originalBody = typeof init?.body === 'string' ? init.body : undefined;
    for (;;) {
      const sent = originalBody === undefined ? undefined : refused.adapt(url, originalBody);
      const { status, headers, body } = await send(sent);
      if (status === 400 && sent !== undefined) {
        const text = await new Response(body).text();
        // Each repetition replaces or omits one more parameter, so the loop ends.
        if (refused.recordRefusal(url, sent, text)) continue;
        return new Response(text, { status, headers });
      }
      if (status === 200 && /^application\/json\b/i.test(headers['content-type'] ?? '')) {
        const text = await new Response(body).text();
        const events = completionToEvents(text);
        return new Response(events ?? text, {
          status,
          headers: { 'content-type': events === null ? 'application/json' : 'text/event-stream' },
        });
      }
      // The constructor of Response refuses a body for these statuses.
      return new Response([204, 205, 304].includes(status) ? null : body, { status, headers });
    }
  };
}

/** OpenAI models that reason before they answer. */
const reasoningModel = /^(?:o\d|gpt-(?:[5-9]|\d{2})(?!.*-chat))/;

/**
 * Users wait for these answers within time and token limits that include reasoning.
 * With the default effort, a reasoning model can reach a limit before its first word.
 */
const optionsOf = ({ provider, model }: ModelBinding) =>
  provider === 'openai' && reasoningModel.test(model)
    ? { providerOptions: { openai: { reasoningEffort: 'low' as const } } }
    : {};

async function modelOf(binding: ModelBinding, guarded: typeof fetch): Promise<LanguageModelV4> {
  const apiKey = binding.apiKey ?? undefined;
  const base = binding.baseUrl === null ? {} : { baseURL: binding.baseUrl };
  // Imported on first use, so that a hub without models starts without these libraries.
  switch (binding.provider) {
    case 'openai': {
      const { createOpenAI } = await import('@ai-sdk/openai');
      return createOpenAI({ apiKey: apiKey ?? '', fetch: guarded, ...base }).chat(binding.model);
    }
    case 'anthropic': {
      const { createAnthropic } = await import('@ai-sdk/anthropic');
      return createAnthropic({ apiKey: apiKey ?? '', fetch: guarded, ...base })(binding.model);
    }
    case 'openai-compatible': {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
      return createOpenAICompatible({
        name: 'model',
        baseURL: binding.baseUrl ?? '',
        fetch: guarded,
        includeUsage: true,
        ...(apiKey === undefined ? {} : { apiKey }),
      }).chatModel(binding.model);
    }
  }
}

function promptOf({ instructions, messages }: InferenceRequest): LanguageModelV4Prompt {
  return [
    ...(instructions === '' ? [] : [{ role: 'system' as const, content: instructions }]),
    ...messages.map(({ role, content }) => ({ role, content: [{ type: 'text' as const, text: content }] })),
  ];
}

/**
 * Calls models through the egress guard with the provider classes of the AI SDK. The high-level functions of the SDK
 * are not used: they retry, write to the console and buffer a second copy of the stream.
 */
export function createInference(egress: Egress, limits = defaultLimits): Inference {
  const guarded = guardedFetch(egress, limits);
  return {
    async *stream(binding, request) {
      const { signal, maxOutputTokens } = request;
      const { model: name } = binding;
      const stop = new AbortController();
      const combinedSignal = AbortSignal.any([signal, stop.signal]);
      let hasPart = false;
      let hasText = false;
      let characters = 0;
      let end: InferenceEnd | undefined;
      try {
        combinedSignal.throwIfAborted();
        const model = await modelOf(binding, guarded);
        const { stream } = await model.doStream({
          prompt: promptOf(request),
          ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
          ...optionsOf(binding),
          abortSignal: combinedSignal,
        });
        for await (const part of stream) {
          switch (part.type) {
            case 'text-delta':
              if (part.delta === '') break;
              hasPart = true;
              characters += part.delta.length;
              if (characters > maxCharacters)
                throw new InferenceError('rubbish', `${name} returned more than ${maxCharacters} characters.`);
              hasText ||= part.delta.trim() !== '';
              yield part.delta;
              break;
            case 'error':
              throw part.error;
            case 'finish': {
              const { finishReason } = part;
              const usage = {
                inputTokens: toTokenCount(part.usage.inputTokens.total),
                outputTokens: toTokenCount(part.usage.outputTokens.total),
              };
              if (finishReason.unified === 'content-filter') throw filterRefused(name, null, usage);
              if (finishReason.unified === 'interrupted' || finishReason.unified === 'error')
                throw new InferenceError('rubbish', `${name} ended its answer before it was complete.`, { usage });
              end = { usage, truncated: finishReason.unified === 'length' };
              break;
            }
            default:
          }
        }
        if (end === undefined) throw new InferenceError('rubbish', `${name} returned no usable answer.`);
        if (!hasText)
          throw new InferenceError('empty', `${name} returned an answer without text.`, { usage: end.usage });
        return end;
      } catch (error) {
        signal.throwIfAborted();
        throw toInferenceError(error, name, hasPart, binding.apiKey);
      } finally {
        stop.abort();
      }
    },
  };
}
