import type { ModelProvider } from '../../../shared/contract/ai/models.ts';
import { EgressFailed, EgressRefused } from '../egress/egress.ts';
import type { Egress } from '../egress/egress.ts';

/** Where a model answers and how to call it. */
export interface ModelBinding {
  provider: ModelProvider;
  /** Needed for `openai-compatible`; the provider's own address when null. */
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

export interface InferenceAnswer {
  text: string;
  usage: { inputTokens: number; outputTokens: number };
}

/** A model that could not be reached, refused or answered nonsense; `retryable` when the same call may succeed later. */
export class InferenceError extends Error {
  readonly retryable: boolean;

  constructor(message: string, options: { retryable: boolean; cause?: unknown }) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'InferenceError';
    this.retryable = options.retryable;
  }
}

export interface Inference {
  /** One call of a model, without retries. @throws InferenceError, or the signal's reason. */
  generate(binding: ModelBinding, request: InferenceRequest): Promise<InferenceAnswer>;
}

const maxResponseBytes = 8 * 1024 * 1024;
/** Of a single exchange; the caller's signal is usually earlier. */
const timeoutMs = 120_000;

/** The AI SDK asks for a fetch; this one goes through the egress guard. */
function guardedFetch(egress: Egress): typeof fetch {
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    const response = await egress.fetch(url, {
      method: (init?.method ?? 'GET') as 'GET' | 'POST',
      headers: Object.fromEntries(new Headers(init?.headers)),
      ...(typeof init?.body === 'string' ? { body: init.body } : {}),
      signal: init?.signal ?? AbortSignal.timeout(timeoutMs),
      timeoutMs,
      maxResponseBytes,
    });
    return new Response(new Uint8Array(response.body), { status: response.status, headers: response.headers });
  };
}

async function modelOf(binding: ModelBinding, guarded: typeof fetch) {
  const apiKey = binding.apiKey ?? undefined;
  const base = binding.baseUrl === null ? {} : { baseURL: binding.baseUrl };
  // Loaded when first needed: a hub without a model starts without them.
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
        ...(apiKey === undefined ? {} : { apiKey }),
      }).chatModel(binding.model);
    }
  }
}

/** Calls models over HTTP through the egress guard. */
export function createInference(egress: Egress): Inference {
  const guarded = guardedFetch(egress);
  return {
    async generate(binding, { instructions, messages, maxOutputTokens, signal }) {
      const { generateText, APICallError } = await import('ai');
      try {
        const result = await generateText({
          model: await modelOf(binding, guarded),
          ...(instructions === '' ? {} : { instructions }),
          messages: messages.map(({ role, content }) => ({ role, content })),
          ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
          maxRetries: 0,
          abortSignal: signal,
        });
        return {
          text: result.text,
          usage: { inputTokens: result.usage.inputTokens ?? 0, outputTokens: result.usage.outputTokens ?? 0 },
        };
      } catch (error) {
        signal.throwIfAborted();
        for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
          if (cause instanceof EgressRefused)
            throw new InferenceError(cause.message, { retryable: false, cause: error });
          if (cause instanceof EgressFailed) throw new InferenceError(cause.message, { retryable: true, cause: error });
        }
        if (APICallError.isInstance(error)) {
          const status = error.statusCode ?? 0;
          throw new InferenceError(
            `${binding.model} answered ${status === 0 ? 'nothing that could be read' : status}: ${error.message.slice(0, 300)}`,
            { retryable: status === 408 || status === 409 || status === 429 || status >= 500, cause: error },
          );
        }
        throw new InferenceError(
          `${binding.model} gave no usable answer: ${error instanceof Error ? error.message.slice(0, 300) : String(error)}`,
          { retryable: true, cause: error },
        );
      }
    },
  };
}
