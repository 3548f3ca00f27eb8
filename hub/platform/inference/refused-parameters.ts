import { LRUCache } from 'lru-cache';
import { z } from 'zod';

/**
 * Parameters of chat completions that some models refuse, with the parameter that replaces each one; null to omit it.
 */
const alternatives = { max_tokens: 'max_completion_tokens', reasoning_effort: null } as const;
type Refusable = keyof typeof alternatives;

const isRefusable = (name: unknown): name is Refusable => typeof name === 'string' && Object.hasOwn(alternatives, name);

/** Limits the memory, because workspaces choose model names. */
const maxModels = 1_000;

const refusal = z.object({
  error: z.object({
    message: z.string().nullish(),
    param: z.string().nullish(),
    code: z.string().nullish(),
  }),
});
const codes = new Set(['unsupported_parameter', 'unsupported_value']);

/**
 * Remembers until the process ends which parameters a model refused, so that only its first call is sent twice.
 * Current OpenAI models refuse `max_tokens`, and compatible endpoints can serve such models under any name.
 */
export class RefusedParameters {
  readonly #refused = new LRUCache<string, ReadonlySet<Refusable>>({ max: maxModels });

  /** Replaces the parameters that the model is known to refuse. */
  adapt(url: string, body: string): string {
    const request = parse(body);
    const refused = this.#refused.get(keyOf(url, request));
    if (request === null || refused === undefined) return body;
    for (const name of refused) {
      const { [name]: value } = request;
      const alternative = alternatives[name];
      delete request[name];
      if (alternative !== null && value !== undefined) request[alternative] = value;
    }
    return JSON.stringify(request);
  }

  /**
   * Whether a response with status 400 refuses a replaceable parameter of the body. From then on `adapt` replaces that
   * parameter.
   */
  recordRefusal(url: string, body: string, answer: string): boolean {
    const request = parse(body);
    const { success, data } = refusal.safeParse(parse(answer));
    if (request === null || !success) return false;
    const { code, param, message } = data.error;
    // Some proxies pass on only the message.
    const name =
      codes.has(code ?? '') && isRefusable(param)
        ? param
        : /^Unsupported (?:parameter|value): '(\w+)'/.exec(message ?? '')?.[1];
    if (!isRefusable(name) || request[name] === undefined) return false;
    const key = keyOf(url, request);
    this.#refused.set(key, new Set([...(this.#refused.get(key) ?? []), name]));
    return true;
  }
}

const keyOf = (url: string, request: Record<string, unknown> | null) => `${url} ${String(request?.['model'])}`;

function parse(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
