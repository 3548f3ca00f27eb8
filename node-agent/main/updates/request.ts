import { ProxyError, sendRequest } from '../../runtime/http-agent.ts';
import type { HttpResponse } from '../../runtime/http-agent.ts';
import { ProxySettingError } from '../../runtime/proxy.ts';
import { UpdateProblem } from './update-problem.ts';

/** Deadlines of a network request. */
export interface RequestDeadlines {
  /** Maximum time until the response begins, and between two chunks of its body. */
  silenceMs: number;
  /** Maximum time of the whole request. */
  wholeMs: number;
}

export const usualDeadlines = { silenceMs: 30_000, wholeMs: 60 * 60_000 };

const maxRedirects = 3;
const isLoopback = (host: string) => ['127.0.0.1', '[::1]', 'localhost'].includes(host);

/** @throws UpdateProblem unless the address is https, or http on this machine. */
function checkAddress(url: URL): void {
  if (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname))) return;
  throw new UpdateProblem('refused', `Updates require https, but ${url.origin} does not use it.`);
}

/** A response whose body is read in chunks, with the same deadlines. */
export interface StreamedResponse {
  status: number;
  headers: Headers;
  body: AsyncIterable<Uint8Array>;
}

/**
 * Requests a file and passes the response to `use`. The connection is closed afterwards. Follows redirects only within
 * the same origin.
 * @throws UpdateProblem `failed` when the server does not answer or the response is incomplete.
 */
export async function request<Result>(
  address: string,
  options: { headers?: Record<string, string>; deadlines: RequestDeadlines; signal: AbortSignal },
  use: (answer: StreamedResponse) => Promise<Result>,
): Promise<Result> {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), options.deadlines.silenceMs);
  const resetSilence = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), options.deadlines.silenceMs);
  };
  const signal = AbortSignal.any([options.signal, silence.signal, AbortSignal.timeout(options.deadlines.wholeMs)]);
  const first = new URL(address);
  const unreachable = (error: unknown) => {
    if (error instanceof UpdateProblem) return error;
    const reason = silence.signal.aborted
      ? 'stopped answering'
      : error instanceof ProxyError || error instanceof ProxySettingError
        ? `can't be reached: ${error.message}`
        : "can't be reached, or closed the connection";
    return new UpdateProblem('failed', `${first.origin} ${reason}. Updates will be checked again later.`, {
      cause: error,
    });
  };
  try {
    let url = first;
    for (let hop = 0; hop <= maxRedirects; hop += 1) {
      checkAddress(url);
      using response = await sendRequest(url, {
        method: 'GET',
        headers: options.headers ?? {},
        body: null,
        signal,
      }).catch((error: unknown) => {
        throw unreachable(error);
      });
      resetSilence();
      if (response.location !== null) {
        const next = new URL(response.location, url);
        if (next.origin !== first.origin)
          throw new UpdateProblem(
            'refused',
            `${first.origin} redirects the update to another host, ${next.origin}. The redirect was not followed.`,
          );
        url = next;
        continue;
      }
      try {
        return await use({ status: response.status, headers: response.headers, body: chunks(response, resetSilence) });
      } catch (error) {
        throw isNetworkFault(error) ? unreachable(error) : error;
      }
    }
    throw new UpdateProblem('failed', `${first.origin} has a redirect loop. Updates will be checked again later.`);
  } finally {
    clearTimeout(timer);
  }
}

class ConnectionLost extends Error {}
const isNetworkFault = (error: unknown) => error instanceof ConnectionLost;

async function* chunks({ body }: HttpResponse, resetSilence: () => void): AsyncGenerator<Uint8Array> {
  const source = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await source.next().catch((error: unknown) => {
        throw new ConnectionLost('', { cause: error });
      });
      if (done === true) return;
      resetSilence();
      yield value;
    }
  } finally {
    await source.return?.();
  }
}

/** Fetches a small file. Null if the server has none. @throws UpdateProblem if it exceeds `maxBytes` or the request fails. */
export async function fetchSmallFile(
  address: string,
  maxBytes: number,
  options: { deadlines: RequestDeadlines; signal: AbortSignal },
): Promise<Buffer | null> {
  return request(address, options, async ({ status, body }) => {
    if (status === 404 || status === 410) return null;
    const { origin } = new URL(address);
    if (status !== 200)
      throw new UpdateProblem('failed', `${origin} answered with ${status}. Updates will be checked again later.`);
    const parts: Uint8Array[] = [];
    let bytes = 0;
    for await (const piece of body) {
      bytes += piece.length;
      if (bytes > maxBytes) throw new UpdateProblem('refused', `The announcement of ${origin} is too large.`);
      parts.push(piece);
    }
    return Buffer.concat(parts);
  });
}
