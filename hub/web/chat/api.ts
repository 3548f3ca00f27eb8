/** The path of an operation below the place from which the page came. */
export const urlOf = (path: string): string => new URL(`widget/v1/${path}`, document.baseURI).href;

/** The URL of a picture. Its path begins at the URL of the hub, below which the page lies. */
export const pictureUrl = (path: string): string => new URL(path.replace(/^\//, ''), document.baseURI).href;

/** An answer of the hub that is no success; status 0 where none came. */
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

  /** Whether the same may succeed later. */
  get isTemporary(): boolean {
    return this.status === 0 || this.status === 408 || this.status === 429 || this.status >= 500;
  }
}

/** An answer that took longer is none, in milliseconds. */
const requestTimeoutMs = 20_000;

export function parseError(status: number, text: string, retryAfter: string | null): HubError {
  let body: { code?: string; message?: string } = {};
  try {
    body = (JSON.parse(text) ?? {}) as typeof body;
  } catch {
    // Something before the hub answered.
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

/** Asks the hub, and answers what it answered once its headers are there. @throws HubError */
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

/** Asks the hub for an answer in JSON. @throws HubError */
export async function call<Answer>(path: string, options: CallOptions = {}): Promise<Answer> {
  const timeout = AbortSignal.timeout(requestTimeoutMs);
  const signal = options.signal === undefined ? timeout : AbortSignal.any([options.signal, timeout]);
  const response = await sendRequest(path, { ...options, signal });
  return (await response.json().catch(() => {
    throw new HubError(0, 'unreachable', '');
  })) as Answer;
}
