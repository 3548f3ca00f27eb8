import { firstOf } from '../../../shared/web/abort-signal.ts';

/** Returns the URL of a widget API operation, relative to the page. */
export const urlOf = (path: string): string => new URL(`widget/v1/${path}`, document.baseURI).href;

/** Returns the URL of a picture. The path is relative to the hub's base URL. */
export const pictureUrl = (path: string): string => new URL(path.replace(/^\//, ''), document.baseURI).href;

/** An error response of the hub. The status is 0 when no response arrived. */
export class HubError extends Error {
  readonly status: number;
  readonly code: string;
  readonly retryAfterMs: number;

  constructor(status: number, code: string, message: string, retryAfterMs = 0) {
    super(message);
    this.status = status;
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }

  /** Whether the same request may succeed later. */
  get isTemporary(): boolean {
    return this.status === 0 || this.status === 408 || this.status === 429 || this.status >= 500;
  }
}

/** Requests without a response within this time fail. */
const requestTimeoutMs = 20_000;

export function parseError(status: number, text: string, retryAfter: string | null): HubError {
  let body: { code?: string; message?: string } = {};
  try {
    body = (JSON.parse(text) ?? {}) as typeof body;
  } catch {
    // A proxy in front of the hub answered.
  }
  return new HubError(status, body.code ?? 'unknown', body.message ?? '', Number(retryAfter ?? 0) * 1000 || 0);
}

export interface CallOptions {
  method?: 'GET' | 'POST';
  query?: Record<string, string>;
  body?: unknown;
  token?: string;
  signal?: AbortSignal;
}

/** Sends a request to the hub. Resolves once the response headers have arrived. @throws HubError */
export async function sendRequest(
  path: string,
  { method = 'GET', query = {}, body, token, signal }: CallOptions,
  headers: Record<string, string> = {},
): Promise<Response> {
  const text = new URLSearchParams(query).toString();
  let response: Response;
  try {
    response = await fetch(`${urlOf(path)}${text === '' ? '' : `?${text}`}`, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      cache: 'no-store',
      credentials: 'omit',
      referrerPolicy: 'no-referrer',
      ...(signal === undefined ? {} : { signal }),
    });
  } catch {
    throw new HubError(0, 'unreachable', '');
  }
  if (response.ok) return response;
  throw parseError(response.status, await response.text().catch(() => ''), response.headers.get('retry-after'));
}

/** Sends a request to the hub and returns the JSON body of the response. @throws HubError */
export async function call<Answer>(path: string, options: CallOptions = {}): Promise<Answer> {
  const timeout = AbortSignal.timeout(requestTimeoutMs);
  const signal = options.signal === undefined ? timeout : firstOf(options.signal, timeout);
  const response = await sendRequest(path, { ...options, signal });
  return (await response.json().catch(() => {
    throw new HubError(0, 'unreachable', '');
  })) as Answer;
}
