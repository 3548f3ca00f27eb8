import { LRUCache } from 'lru-cache';
import {
  channelCloseCodes,
  channelPoll,
  deviceRequest,
  deviceRequestTypes,
  nodeChannel,
} from '../../../shared/contract/nodes/channel.ts';
import type { DeviceRequest, HubAnswerFrame } from '../../../shared/contract/nodes/channel.ts';
import { nodes as resource } from '../../../shared/contract/nodes/nodes.ts';
import { AppError } from '../../../shared/errors.ts';
import type { Events } from '../../platform/events/events.ts';
import { answerToError, parsePart } from '../../platform/http/errors.ts';
import { parseJsonText } from '../../platform/http/json-text.ts';
import { implementSocket } from '../../platform/http/sockets.ts';
import type { OpenedSocket, SocketRoute, WebSocket } from '../../platform/http/sockets.ts';
import type { Logger } from '../../platform/logger.ts';
import { Channel, channelTopic, mostOfWorkspace, Second } from './channel.ts';
import type { Devices } from './devices.ts';
import { QuietNode } from './quiet-node.ts';
import type { CommandResults } from './results.ts';

export interface NodeChannelsDependencies {
  devices: Devices;
  results: CommandResults;
  events: Events;
  logger: Logger;
}

type Opened = OpenedSocket<typeof nodeChannel.connectAutomationNode>;

const revokedReason = 'this device is not paired any more';
const maxWorkspaces = 10_000;
/** After events were missed all devices are looked at again, spread over so long for each of them, in milliseconds. */
const lookAgainMs = 2.5;

/** The open channels of devices: each request of theirs is carried out as the operation that it stands for. */
export class NodeChannels {
  readonly #deps: NodeChannelsDependencies;
  readonly #open = new Map<Channel, Opened>();
  /** What the devices of each workspace send. */
  readonly #seconds = new LRUCache<string, Second>({ max: maxWorkspaces });
  readonly #newest = new Map<string, Channel>();
  #stopping: AbortSignal | undefined;

  constructor(dependencies: NodeChannelsDependencies) {
    this.#deps = dependencies;
    // Word of a revocation may have been missed, and a device that asks for nothing is not found out else.
    dependencies.events.onReconnect(() => this.#lookAgain());
  }

  get route(): SocketRoute {
    return implementSocket(nodeChannel.connectAutomationNode, (opened) => this.#serve(opened));
  }

  #serve(opened: Opened): void {
    const { socket, principal, stopping } = opened;
    const { nodeId } = principal;
    const channel = new Channel(socket, this.#secondOf(principal.tenantId), new QuietNode(this.#deps.events, nodeId));
    this.#open.set(channel, opened);
    const heard = this.#replaceOlder(nodeId, channel);
    if (this.#stopping !== stopping) {
      this.#stopping = stopping;
      stopping.addEventListener('abort', () => this.#open.forEach((_opened, one) => one.stop()), { once: true });
    }
    socket.once('close', () => {
      heard[Symbol.dispose]();
      channel.quiet[Symbol.dispose]();
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
      if (request === 'of another type') {
        // It is a request all the same, and whoever makes too many is sent away.
        void opened.limit().catch((error: unknown) => {
          if (error instanceof AppError && error.code === 'rate_limited')
            channel.end(channelCloseCodes.tooMany, 'too many requests');
        });
        return;
      }
      channel.begun();
      if (socket.readyState !== socket.OPEN) return;
      void this.#answer(opened, channel, request).finally(() => channel.finished());
    });
    if (stopping.aborted) channel.stop();
  }

  #secondOf(tenantId: string): Second {
    const known = this.#seconds.get(tenantId);
    if (known !== undefined) return known;
    const second = new Second(mostOfWorkspace);
    this.#seconds.set(tenantId, second);
    return second;
  }

  /** Looks whether the devices of all channels are still paired, spread over a while. */
  #lookAgain(): void {
    const withinMs = this.#open.size * lookAgainMs;
    for (const [channel, opened] of this.#open) {
      const look = async () => {
        if (!this.#open.has(channel)) return;
        await opened.authenticate().catch((error: unknown) => {
          if (error instanceof AppError && error.code === 'device_secret_invalid')
            channel.end(channelCloseCodes.revoked, revokedReason);
        });
      };
      setTimeout(() => void look(), Math.random() * withinMs).unref();
    }
  }

  /** A device has one companion, and a connection that it gave up may not know it yet, here or at another process. */
  #replaceOlder(nodeId: string, channel: Channel): Disposable {
    const { events } = this.#deps;
    const replaced = (older: Channel) =>
      older.end(channelCloseCodes.replaced, 'another channel of this device took its place');
    const older = this.#newest.get(nodeId);
    if (older !== undefined) replaced(older);
    this.#newest.set(nodeId, channel);
    const heard = events.subscribe(channelTopic(nodeId), ({ channel: newer, revoked }) => {
      // What is under way finds out by itself, and is answered so.
      if (revoked === true) channel.endWhenIdle(channelCloseCodes.revoked, revokedReason);
      else if (typeof newer === 'string' && newer > channel.id) replaced(channel);
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
      const { body, onLost } = await this.#carryOut(opened, request, channel);
      answer({ status: 200, body }, onLost);
    } catch (error) {
      const { status, body, retryAfterSeconds } = answerToError(error, requestId, this.#deps.logger);
      answer({ status, body, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) });
      if (error instanceof AppError && error.code === 'device_secret_invalid')
        channel.end(channelCloseCodes.revoked, revokedReason);
    }
  }

  async #carryOut(
    { principal, authenticate }: Opened,
    { type, commandId, body }: DeviceRequest,
    channel: Channel,
  ): Promise<{ body: unknown; onLost?: () => void }> {
    const { devices, results } = this.#deps;
    switch (type) {
      case 'poll': {
        const handedOut = await devices.poll(
          principal,
          parsePart('body', channelPoll, body ?? {}),
          channel.ended.signal,
          channel.quiet,
        );
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
        const confirmed = authenticate();
        confirmed.catch(() => undefined);
        const params = parsePart('params', resource.completeAutomationNodeCommand.params, {
          id: principal.nodeId,
          commandId,
        });
        const result = parsePart('body', resource.completeAutomationNodeCommand.body, body);
        const recorded = await results.complete(principal, params.commandId, result, [], confirmed);
        channel.quiet.ended(params.commandId);
        return { body: recorded };
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
  const isOther = isFrame(frame) && !deviceRequestTypes.some((type) => type === frame.type);
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
