import type { z } from 'zod';
import { addressOf } from '../../shared/client/client.ts';
import type { Input } from '../../shared/client/client.ts';
import { CommandError } from './commands/handler.ts';
import type { HubFile } from './commands/handler.ts';
import { sendRequest } from './http-agent.ts';
import type { HttpResponse } from './http-agent.ts';
import { hubAnswers } from './hub-answers.ts';
import type { HubAnswers } from './hub-answers.ts';
import { fitsIntoFrame } from './hub-channel.ts';
import type { ChannelRequest, HubChannel } from './hub-channel.ts';
import { answerTooLarge, HubError, maxAnswerBytes, toHubError } from './hub-error.ts';
import { describeFailure } from './unreachable.ts';

type PollQuery = NonNullable<Input<'pollAutomationNodeCommands'>['query']>;

export interface CallOptions {
  signal: AbortSignal;
  /** For the whole call; with `content`, since the last byte was sent. */
  timeoutMs: number;
  /** Instead of the JSON body: bytes, read from their source as fast as they are sent. */
  content?: AsyncIterable<Uint8Array>;
  /** Instead of the JSON body. */
  form?: FormData;
}

/** An answer, and how far the hub's clock is ahead of this machine's clock, in milliseconds. */
export interface HubAnswer<Body> {
  body: Body;
  hubAheadMs: number;
}

/** Calls the device operations of a hub. */
export class HubClient {
  readonly #hub: string;
  readonly #secret: string | null;
  readonly #channel: HubChannel | null;

  /** @param channel Used for the requests that it supports while it is open. */
  constructor(hub: string, secret: string | null, channel: HubChannel | null = null) {
    this.#hub = hub.replace(/(?<!\/)\/+$/, '');
    this.#secret = secret;
    this.#channel = channel;
  }

  /** @throws HubError, or the signal's reason. */
  async call<Id extends keyof HubAnswers>(
    id: Id,
    input: Partial<Input<Id>>,
    options: CallOptions,
  ): Promise<HubAnswer<z.output<HubAnswers[Id]>>> {
    const request = this.#channel?.isOpen === true ? channelRequestOf(id, input, options) : null;
    if (request !== null) {
      const { status, body, retryAfterSeconds = null } = await (this.#channel as HubChannel).send(request, options);
      if (status >= 300) throw toHubError(status, body, retryAfterSeconds === null ? null : String(retryAfterSeconds));
      return { body: this.#read(id, status, body), hubAheadMs: 0 };
    }
    const { method, url } = addressOf(this.#hub, id, input);
    const { body } = input as { body?: unknown };
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), options.timeoutMs);
    const { content } = options;
    const form = options.form === undefined ? null : new Response(options.form);
    const json = content === undefined && form === null && body !== undefined;
    let status: number;
    let headers: Headers;
    let text: string;
    try {
      using response = await sendRequest(new URL(url), {
        method,
        headers: {
          ...(this.#secret === null ? {} : { authorization: `Bearer ${this.#secret}` }),
          ...(json ? { 'content-type': 'application/json' } : {}),
          ...(content === undefined ? {} : { 'content-type': 'application/octet-stream' }),
          ...(form === null ? {} : { 'content-type': form.headers.get('content-type') as string }),
        },
        body:
          content !== undefined ? refreshingTimer(content, timer) : json ? JSON.stringify(body) : (form?.body ?? null),
        signal: AbortSignal.any([options.signal, timeout.signal]),
      });
      // A hub has no reason to redirect its devices, and the secret must not be sent elsewhere.
      if (response.location !== null) throw new Error('redirect');
      ({ status, headers } = response);
      text = await readText(response, this.#hub);
    } catch (error) {
      if (options.signal.aborted) throw options.signal.reason;
      if (error instanceof HubError) throw error;
      const reason = timeout.signal.aborted ? `no answer within ${options.timeoutMs / 1000} s` : describeFailure(error);
      throw new HubError(0, 'unreachable', `The hub at ${this.#hub} can't be reached: ${reason}.`, { cause: error });
    } finally {
      clearTimeout(timer);
    }
    const answer = parseJson(text);
    if (status < 200 || status > 299) throw toHubError(status, answer, headers.get('retry-after'));
    const date = Date.parse(headers.get('date') ?? '');
    return {
      body: this.#read(id, status, answer),
      hubAheadMs: Number.isNaN(date) ? 0 : date - Date.now(),
    };
  }

  /** Reads an artifact of the run of a command, into memory. @throws CommandError, or the signal's reason. */
  async readArtifact(
    nodeId: string,
    commandId: string,
    artifactId: string,
    { signal, maxBytes }: { signal: AbortSignal; maxBytes: number },
  ): Promise<HubFile> {
    const { method, url } = addressOf(this.#hub, 'readAutomationCommandFile', {
      params: { id: nodeId, commandId, artifactId },
    });
    try {
      using response = await sendRequest(new URL(url), {
        method,
        headers: this.#secret === null ? {} : { authorization: `Bearer ${this.#secret}` },
        body: null,
        signal,
      });
      const { status, headers } = response;
      if (status !== 200) throw noArtifact(artifactId, status);
      return {
        name: fileNameOf(headers) ?? artifactId,
        contentType: headers.get('content-type') ?? 'application/octet-stream',
        content: await readBytes(response, maxBytes, artifactId),
      };
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (error instanceof CommandError) throw error;
      throw new CommandError(
        'hub_unreachable',
        `The artifact ${artifactId} could not be read: ${describeFailure(error)}.`,
        {
          cause: error,
        },
      );
    }
  }

  #read<Id extends keyof HubAnswers>(id: Id, status: number, answer: unknown): z.output<HubAnswers[Id]> {
    const parsed = (hubAnswers[id] as z.ZodType).safeParse(answer);
    if (!parsed.success)
      throw new HubError(status, 'foreign_answer', `The answer of ${this.#hub} is not a hub's; is the address right?`);
    return parsed.data as z.output<HubAnswers[Id]>;
  }
}

/** A request in the form that the channel sends. Null when the channel does not support it. */
function channelRequestOf(id: keyof HubAnswers, input: object, { content, form }: CallOptions): ChannelRequest | null {
  const { params, query, body } = input as { params?: Record<string, string>; query?: PollQuery; body?: unknown };
  switch (id) {
    case 'pollAutomationNodeCommands': {
      const { running = '', runningIsComplete, ...rest } = query ?? {};
      return {
        type: 'poll',
        body: {
          ...rest,
          running: running === '' ? [] : running.split(','),
          runningIsComplete: runningIsComplete === 'true',
        },
      };
    }
    case 'heartbeatAutomationNode':
      return { type: 'heartbeat', body };
    case 'completeAutomationNodeCommand': {
      const request: ChannelRequest = { type: 'result', commandId: params?.['commandId'] as string, body };
      return content === undefined && form === undefined && fitsIntoFrame(request) ? request : null;
    }
    default:
      return null;
  }
}

const noArtifact = (id: string, status: number): CommandError =>
  status === 404
    ? new CommandError(
        'not_found',
        `There is no artifact ${id} of this run; name one that an earlier step of the run brought.`,
      )
    : new CommandError('hub_unreachable', `The artifact ${id} could not be read: the hub answered ${status}.`);

/** The file name of an attachment, without any path. */
function fileNameOf(headers: Headers): string | undefined {
  const disposition = headers.get('content-disposition') ?? '';
  const encoded = /filename\*=UTF-8''([^;]+)/i.exec(disposition)?.[1];
  const name = encoded === undefined ? /filename="?([^";]+)"?/i.exec(disposition)?.[1] : decodeURIComponent(encoded);
  return name?.split(/[/\\]/).at(-1);
}

async function readBytes(response: HttpResponse, maxBytes: number, artifactId: string): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    bytes += chunk.length;
    if (bytes > maxBytes)
      throw new CommandError(
        'too_large',
        `The artifact ${artifactId} has too many bytes; ${maxBytes} more may be sent.`,
      );
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Reads a whole answer, up to the limit that protects the memory. */
async function readText(response: HttpResponse, hub: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    bytes += chunk.length;
    // Leaving the loop ends the connection.
    if (bytes > maxAnswerBytes)
      throw new HubError(
        response.status,
        answerTooLarge,
        `The answer of ${hub} has more than ${maxAnswerBytes} bytes; is the address right?`,
      );
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

/** Passes chunks on. Each chunk restarts the time-out. */
async function* refreshingTimer(content: AsyncIterable<Uint8Array>, timer: NodeJS.Timeout): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    timer.refresh();
    yield chunk;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
