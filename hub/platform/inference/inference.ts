import type { LanguageModelV4, LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { ModelProvider } from '../../../shared/contract/ai/models.ts';
import type { Egress } from '../egress/egress.ts';
import { filterRefused, InferenceError, toInferenceError } from './failure.ts';
import { RefusedParameters } from './refused-parameters.ts';
import { toTokenCount } from './token-count.ts';
import { completionToEvents } from './whole-completion.ts';

export { InferenceError } from './failure.ts';

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

/** What stands at the end of an answer. */
export interface InferenceEnd {
  /** As the provider counts, in whole numbers; 0 where it does not say. */
  usage: { inputTokens: number; outputTokens: number };
  /** Whether the model stopped because it may say no more. */
  truncated: boolean;
}

export interface InferenceAnswer extends InferenceEnd {
  text: string;
}

export interface Inference {
  /**
   * One call of a model, without retries: the parts of its text as they come, none of them empty, and what stands at its end. Whoever stops early, by `return`
   * or by the signal, closes the connection.
   * @throws InferenceError, or the signal's reason.
   */
  stream(binding: ModelBinding, request: InferenceRequest): AsyncGenerator<string, InferenceEnd, undefined>;
}

const maxResponseBytes = 8 * 1024 * 1024;
/** Of the text of an answer: the most that models are asked for is a part of it. */
const maxCharacters = 512 * 1024;
const limits = {
  connectTimeoutMs: 5_000,
  firstByteTimeoutMs: 8_000,
  idleTimeoutMs: 10_000,
  /** Of a single exchange; the caller's signal is usually earlier. */
  timeoutMs: 120_000,
};

/**
 * The AI SDK takes a fetch function. This one sends requests through the egress guard, and sends one again without a parameter that the model refused.
 */
function guardedFetch(egress: Egress): typeof fetch {
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
    const given = typeof init?.body === 'string' ? init.body : undefined;
    for (;;) {
      const sent = given === undefined ? undefined : refused.adapt(url, given);
      const { status, headers, body } = await send(sent);
      if (status === 400 && sent !== undefined) {
        const text = await new Response(body).text();
        // Each time one parameter fewer is sent, so this ends.
        if (refused.learn(url, sent, text)) continue;
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
      // A response of these may have no body.
      return new Response([204, 205, 304].includes(status) ? null : body, { status, headers });
    }
  };
}

/** Models of OpenAI that think before they answer. */
const reasoningModel = /^(?:o\d|gpt-(?:[5-9]|\d{2})(?!.*-chat))/;

/**
 * People wait for these answers, within limits on time and tokens that thinking counts towards: at the default effort such a model can use up either before its first word.
 */
const optionsOf = ({ provider, model }: ModelBinding) =>
  provider === 'openai' && reasoningModel.test(model)
    ? { providerOptions: { openai: { reasoningEffort: 'low' as const } } }
    : {};

async function modelOf(binding: ModelBinding, guarded: typeof fetch): Promise<LanguageModelV4> {
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
 * Calls models over HTTP through the egress guard, by the providers of the AI SDK themselves: its functions above them retry, write to the console and
 * keep a second copy of the stream.
 */
export function createInference(egress: Egress): Inference {
  const guarded = guardedFetch(egress);
  return {
    async *stream(binding, request) {
      const { signal, maxOutputTokens } = request;
      const { model: name } = binding;
      const stop = new AbortController();
      const either = AbortSignal.any([signal, stop.signal]);
      let hasPart = false;
      let hasText = false;
      let characters = 0;
      let end: InferenceEnd | undefined;
      try {
        either.throwIfAborted();
        const model = await modelOf(binding, guarded);
        const { stream } = await model.doStream({
          prompt: promptOf(request),
          ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
          ...optionsOf(binding),
          abortSignal: either,
        });
        for await (const part of stream) {
          switch (part.type) {
            case 'text-delta':
              if (part.delta === '') break;
              hasPart = true;
              characters += part.delta.length;
              if (characters > maxCharacters)
                throw new InferenceError('rubbish', `${name} went on beyond ${maxCharacters} characters.`);
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
                throw new InferenceError('rubbish', `${name} broke off its answer.`, { usage });
              end = { usage, truncated: finishReason.unified === 'length' };
              break;
            }
            default:
          }
        }
        if (end === undefined) throw new InferenceError('rubbish', `${name} gave no usable answer.`);
        if (!hasText) throw new InferenceError('empty', `${name} answered without a word.`, { usage: end.usage });
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
