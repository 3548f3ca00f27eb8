import { channelCloseCodes, channelPoll, deviceRequest, nodeChannel } from '../../../shared/contract/nodes/channel.ts';
import type { DeviceRequest, HubAnswerFrame } from '../../../shared/contract/nodes/channel.ts';
import { nodes as resource } from '../../../shared/contract/nodes/nodes.ts';
import { AppError } from '../../../shared/errors.ts';
import type { Events } from '../../platform/events/events.ts';
import { answerToError, parsePart } from '../../platform/http/errors.ts';
import { parseJsonText } from '../../platform/http/json-text.ts';
import { implementSocket } from '../../platform/http/sockets.ts';
import type { OpenedSocket, SocketRoute, WebSocket } from '../../platform/http/sockets.ts';
import { newId } from '../../platform/ids.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Devices } from './devices.ts';
import type { CommandResults } from './results.ts';

export interface NodeChannelsDependencies {
  devices: Devices;
  results: CommandResults;
  events: Events;
  logger: Logger;
}

type Opened = OpenedSocket<typeof nodeChannel.connectAutomationNode>;

/** Topic that tells of a new channel of a node. */
const channelTopic = (nodeId: string) => `channel:${nodeId}`;

/** Requests of a device that are worked on at once; the connection is not read on until there are fewer. */
const maxAtOnce = 16;
/** What one read of the connection may bring beyond that. */
const maxRequests = 256;
/** What a device may send in a second before the connection is not read on until that is over: so much as no companion ever has to say. */
const mostASecond = { frames: 500, bytes: 4 * 1024 * 1024 };

/** The channel of a device that is open here. */
class Channel {
  /** Later ones are greater, at whichever process they were opened. */
  readonly id = newId();
  readonly socket: WebSocket;
  /** Aborts when nothing more is to be handed out through it. */
  readonly ended = new AbortController();
  #underWay = 0;
  #isToClose = false;
  #second = { endsAt: 0, frames: 0, bytes: 0 };

  constructor(socket: WebSocket) {
    this.socket = socket;
  }

  /** Counts a frame before anybody looks into it. */
  arrived(bytes: number): void {
    const now = performance.now();
    const second = this.#second;
    if (now >= second.endsAt) this.#second = { endsAt: now + 1_000, frames: 1, bytes };
    else {
      second.frames += 1;
      second.bytes += bytes;
    }
    if (second.frames <= mostASecond.frames && second.bytes <= mostASecond.bytes) return;
    if (this.socket.isPaused) return;
    this.socket.pause();
    setTimeout(() => this.#readOn(), Math.max(0, this.#second.endsAt - now)).unref();
  }

  begun(): void {
    this.#underWay += 1;
    if (this.#underWay > maxRequests) this.end(channelCloseCodes.tooMany, `more than ${maxRequests} requests at once`);
    else if (this.#underWay >= maxAtOnce) this.socket.pause();
  }

  finished(): void {
    this.#underWay -= 1;
    if (this.#isToClose) this.#closeIfIdle();
    else this.#readOn();
  }

  /** Ends polls empty, and closes as soon as what is under way was answered. */
  stop(): void {
    this.#isToClose = true;
    this.ended.abort();
    this.#closeIfIdle();
  }

  /** Closes at once; what still comes through it is thrown away. */
  end(code: number, reason: string): void {
    this.ended.abort();
    this.socket.close(code, reason);
    // The other side's word that it closes, too, could not be read else.
    this.socket.resume();
  }

  #readOn(): void {
    if (this.socket.isPaused && this.#underWay < maxAtOnce) this.socket.resume();
  }

  #closeIfIdle(): void {
    if (this.#underWay === 0) this.end(1001, 'the hub stops');
  }
}

/** The open channels of devices: each request of theirs is carried out as the operation that it stands for. */
export class NodeChannels {
  readonly #deps: NodeChannelsDependencies;
  readonly #open = new Set<Channel>();
  readonly #newest = new Map<string, Channel>();
  #stopping: AbortSignal | undefined;

  constructor(dependencies: NodeChannelsDependencies) {
    this.#deps = dependencies;
  }

  get route(): SocketRoute {
    return implementSocket(nodeChannel.connectAutomationNode, (opened) => this.#serve(opened));
  }

  #serve(opened: Opened): void {
    const { socket, principal, stopping } = opened;
    const { nodeId } = principal;
    const channel = new Channel(socket);
    this.#open.add(channel);
    const heard = this.#replaceOlder(nodeId, channel);
    if (this.#stopping !== stopping) {
      this.#stopping = stopping;
      stopping.addEventListener('abort', () => this.#open.forEach((one) => one.stop()), { once: true });
    }
    socket.once('close', () => {
      heard[Symbol.dispose]();
      this.#open.delete(channel);
      if (this.#newest.get(nodeId) === channel) this.#newest.delete(nodeId);
      channel.ended.abort();
    });
    socket.on('message', (data, isBinary) => {
      const bytes = data as Buffer;
      channel.arrived(bytes.length);
      if (isBinary || socket.readyState !== socket.OPEN) return;
      const request = readRequest(bytes);
      if (request === 'not understood') {
        channel.end(channelCloseCodes.notUnderstood, 'frames are JSON objects with id and type');
        return;
      }
      if (request === 'of another type') return;
      channel.begun();
      if (socket.readyState !== socket.OPEN) return;
      void this.#answer(opened, channel, request).finally(() => channel.finished());
    });
    if (stopping.aborted) channel.stop();
  }

  /** A device has one companion, and a connection that it gave up may not know it yet, here or at another process. */
  #replaceOlder(nodeId: string, channel: Channel): Disposable {
    const { events } = this.#deps;
    const replaced = (older: Channel) =>
      older.end(channelCloseCodes.replaced, 'another channel of this device took its place');
    const older = this.#newest.get(nodeId);
    if (older !== undefined) replaced(older);
    this.#newest.set(nodeId, channel);
    const heard = events.subscribe(channelTopic(nodeId), ({ channel: newer }) => {
      if (typeof newer === 'string' && newer > channel.id) replaced(channel);
    });
    void events.publish(channelTopic(nodeId), { channel: channel.id });
    return heard;
  }

  async #answer(opened: Opened, channel: Channel, request: DeviceRequest | UnreadableRequest): Promise<void> {
    const { socket, requestId } = opened;
    const answer = (frame: Omit<HubAnswerFrame, 'id' | 'type'>, onLost?: () => void) =>
      send(socket, { id: request.id, type: 'answer', ...frame }, onLost);
    try {
      await opened.limit();
      if ('problem' in request)
        throw new AppError('invalid_json', `The frame is not JSON as it may be: ${request.problem.slice(0, 200)}.`);
      const { body, onLost } = await this.#carryOut(opened, request, channel.ended.signal);
      answer({ status: 200, body }, onLost);
    } catch (error) {
      const { status, body, retryAfterSeconds } = answerToError(error, requestId, this.#deps.logger);
      answer({ status, body, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) });
      if (error instanceof AppError && error.code === 'device_secret_invalid')
        channel.end(channelCloseCodes.revoked, 'this device is not paired any more');
    }
  }

  async #carryOut(
    { principal, authenticate }: Opened,
    { type, commandId, body }: DeviceRequest,
    signal: AbortSignal,
  ): Promise<{ body: unknown; onLost?: () => void }> {
    const { devices, results } = this.#deps;
    switch (type) {
      case 'poll': {
        const handedOut = await devices.poll(principal, parsePart('body', channelPoll, body ?? {}), signal);
        return {
          body: handedOut.answer,
          ...(handedOut.leases.length === 0 ? {} : { onLost: () => void devices.putBack(principal, handedOut) }),
        };
      }
      case 'heartbeat':
        return {
          body: await devices.heartbeat(principal, parsePart('body', resource.heartbeatAutomationNode.body, body)),
        };
      case 'result': {
        // The other two are refused by what they look at; what a revoked device did changes nothing any more.
        await authenticate();
        const params = parsePart('params', resource.completeAutomationNodeCommand.params, {
          id: principal.nodeId,
          commandId,
        });
        const result = parsePart('body', resource.completeAutomationNodeCommand.body, body);
        return { body: await results.complete(principal, params.commandId, result, []) };
      }
    }
  }
}

/** A request of which only its number can be used. */
interface UnreadableRequest {
  id: number;
  problem: string;
}

function readRequest(data: Buffer): DeviceRequest | UnreadableRequest | 'not understood' | 'of another type' {
  const text = data.toString('utf8');
  let frame: unknown;
  try {
    frame = parseJsonText(text);
  } catch (error) {
    // Sent again it would be the same: who asked is told so.
    const id = /^\s*\{\s*"id"\s*:\s*(\d{1,15})\s*,/.exec(text)?.[1];
    return id === undefined ? 'not understood' : { id: Number(id), problem: (error as Error).message };
  }
  const parsed = deviceRequest.safeParse(frame);
  if (parsed.success) return parsed.data;
  const isOther = isFrame(frame) && parsed.error.issues.every(({ path }) => path[0] === 'type');
  return isOther ? 'of another type' : 'not understood';
}

const isFrame = (value: unknown): value is { type: string } =>
  typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string';

/** Sends a frame; `onLost` is called once it is certain that it did not leave the hub whole. */
function send(socket: WebSocket, frame: HubAnswerFrame, onLost: (() => void) | undefined): void {
  if (socket.readyState !== socket.OPEN) {
    onLost?.();
    return;
  }
  socket.send(JSON.stringify(frame), (error) => {
    if (error !== undefined && error !== null) onLost?.();
  });
}
