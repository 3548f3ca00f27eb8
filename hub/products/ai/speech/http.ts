import type { Egress } from '../../../platform/egress/egress.ts';
import type { EgressStream } from '../../../platform/egress/stream.ts';
import { parseRetryAfter } from '../../../platform/inference/failure.ts';
import { SpeechFailed } from './failure.ts';
import type { SpeechStage } from './failure.ts';

/** A speech model with an HTTP API. */
export interface HttpBinding {
  baseUrl: string;
  model: string;
  apiKey: string | null;
}

export interface HttpCall {
  stage: SpeechStage;
  path: string;
  contentType: string;
  body: string | Uint8Array;
  signal: AbortSignal;
  firstByteTimeoutMs: number;
  /** Time limit of the whole call. */
  timeoutMs: number;
  maxResponseBytes: number;
}

const connectTimeoutMs = 5_000;
const idleTimeoutMs = 10_000;
const maxErrorBytes = 64 * 1024;

/**
 * Calls a model and returns the response if its status is 200.
 * @throws SpeechFailed for another status; EgressRefused, EgressFailed, or the reason of the signal.
 */
export async function callModel(egress: Egress, binding: HttpBinding, call: HttpCall): Promise<EgressStream> {
  const { stage, path, contentType, ...rest } = call;
  const answer = await egress.stream(`${binding.baseUrl}${path}`, {
    ...rest,
    method: 'POST',
    headers: {
      'content-type': contentType,
      ...(binding.apiKey === null ? {} : { authorization: `Bearer ${binding.apiKey}` }),
    },
    connectTimeoutMs,
    idleTimeoutMs,
  });
  const { status } = answer;
  if (status === 200) return answer;
  const code = errorCodeIn(await readText(answer.body, maxErrorBytes).catch(() => ''));
  throw new SpeechFailed(stage, 'status', `${binding.model} answered ${status}${code === '' ? '' : ` (${code})`}.`, {
    status,
    retryAfterMs: parseRetryAfter(answer.headers['retry-after']),
  });
}

/** Reads the text of a response, up to `maxBytes` and the rest of the chunk. */
export async function readText(body: ReadableStream<Uint8Array>, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= maxBytes) break;
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Returns the code of a provider's error response. Its message is ignored, because it may quote the speech. */
function errorCodeIn(text: string): string {
  try {
    const { error } = JSON.parse(text) as { error?: { code?: unknown; type?: unknown } };
    const code = [error?.code, error?.type].find((value) => typeof value === 'string') ?? '';
    return String(code)
      .replaceAll(/[^\w.-]/g, '')
      .slice(0, 60);
  } catch {
    return '';
  }
}
