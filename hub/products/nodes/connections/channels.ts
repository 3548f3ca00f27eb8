import { LRUCache } from 'lru-cache';
import type { z } from 'zod';
import {
  channelCloseCodes,
  channelPoll,
  deviceRequest,
  deviceRequestTypes,
  nodeChannel,
} from '../../../../shared/contract/nodes/channel.ts';
import type { DeviceRequest, HubAnswerFrame } from '../../../../shared/contract/nodes/channel.ts';
import { nodes as resource } from '../../../../shared/contract/nodes/nodes.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { Events } from '../../../platform/events/events.ts';
import { implementSocket } from '../../../platform/http/live/sockets.ts';
import type { SocketRoute, WebSocket } from '../../../platform/http/live/sockets.ts';
import { errorResponseOf, parsePart } from '../../../platform/http/routing/errors.ts';
import { parseJsonText } from '../../../platform/http/routing/json-text.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import type { PollCallbacks, WaitingPoll } from '../commands/index.ts';
import type { Devices } from '../devices/index.ts';
import type { CommandResults } from '../results/index.ts';
import { Channel, channelTopic, maxPerWorkspace, RateWindow } from './channel.ts';
import type { ChannelRequest, OpenedChannel } from './channel.ts';
import type { DevicePolls } from './device-polls.ts';

export interface NodeChannelsDependencies {
  devices: Devices;
  polls: DevicePolls;
  results: CommandResults;
  events: Events;
  logger: Logger;
}

const channelOf = Symbol('channel');
type ChannelSocket = WebSocket & { [channelOf]?: Channel };

const revokedReason = 'this device is no longer paired';
const maxWorkspaces = 10_000;
/** After missed events all devices are authenticated again, spread over this many milliseconds per device. */
const reauthenticateMsPerDevice = 2.5;

/** The open channels of devices. Each request in a channel runs the matching API operation. */
export class NodeChannels {
  readonly #deps: NodeChannelsDependencies;
  readonly #open = new Set<Channel>();
  /** Rate window of each workspace. */
  readonly #rateWindows = new LRUCache<string, RateWindow>({ max: maxWorkspaces });
  readonly #newest = new Map<string, Channel>();
  #stopping: AbortSignal | undefined;
  // All sockets share these listeners, because separate closures would use much of the memory of an idle device.
  readonly #onClose: (this: WebSocket) => void;
  readonly #onMessage: (this: WebSocket, data: unknown, isBinary: boolean) => void;
  readonly #pollCallbacks: PollCallbacks<ChannelRequest> = {
    answered: (poll, result) => {
      const { device } = poll.request;
      const onSendFailure =
        result.leases.length === 0 ? undefined : () => this.#deps.polls.returnLeases(device, result);
      removePoll(poll);
      this.#answer(poll.to, { status: 200, body: result.response }, onSendFailure);
    },
    failed: (poll, error) => {
      removePoll(poll);
      this.#answerError(poll.to, error);
    },
  };

  constructor(dependencies: NodeChannelsDependencies) {
    this.#deps = dependencies;
    const { events } = dependencies;
    const removeChannel = (channel: Channel) => this.#remove(channel);
    const receive = (channel: Channel, data: Buffer, isBinary: boolean) => this.#receive(channel, data, isBinary);
    this.#onClose = function onClose(this: ChannelSocket) {
      if (this[channelOf] !== undefined) removeChannel(this[channelOf]);
    };
    this.#onMessage = function onMessage(this: ChannelSocket, data, isBinary) {
      if (this[channelOf] !== undefined) receive(this[channelOf], data as Buffer, isBinary);
    };
    events.subscribeFamily(channelTopic(''), (nodeId, { channel: newer, revoked }) => {
      const channel = this.#newest.get(nodeId);
      // Requests in progress authenticate the device themselves and get an error response.
      if (revoked === true) channel?.endWhenIdle(channelCloseCodes.revoked, revokedReason);
      else if (channel !== undefined && typeof newer === 'string' && newer > channel.id) replace(channel);
    });
    // A revocation event may have been missed, and a device without requests is not authenticated otherwise.
    events.onReconnect(() => this.#authenticateAll());
  }

  get route(): SocketRoute {
    return implementSocket(nodeChannel.connectAutomationNode, (opened) => this.#serve(opened));
  }

  #serve(opened: OpenedChannel): void {
    const { socket, principal, stopping } = opened;
    const { nodeId } = principal;
    const { polls } = this.#deps;
    const channel = new Channel(opened, this.#rateWindowOf(principal.tenantId), polls.watch(nodeId), this.#endPolls);
    this.#open.add(channel);
    this.#replaceOlder(nodeId, channel);
    if (this.#stopping !== stopping) {
      this.#stopping = stopping;
      stopping.addEventListener('abort', () => this.#open.forEach((one) => one.stop()), { once: true });
    }
    (socket as ChannelSocket)[channelOf] = channel;
    socket.on('close', this.#onClose);
    socket.on('message', this.#onMessage);
    if (stopping.aborted) channel.stop();
  }

  #remove(channel: Channel): void {
    const { nodeId } = channel.opened.principal;
    this.#deps.polls.forget(nodeId, channel.idleState);
    this.#open.delete(channel);
    if (this.#newest.get(nodeId) === channel) this.#newest.delete(nodeId);
    channel.endPolls();
  }

  readonly #endPolls = (channel: Channel): void => {
    for (const poll of channel.polls) this.#deps.polls.end(poll);
  };

  #receive(channel: Channel, bytes: Buffer, isBinary: boolean): void {
    const { socket, opened } = channel;
    channel.countFrame(bytes.length);
    if (isBinary || socket.readyState !== socket.OPEN) return;
    const request = readRequest(bytes);
    if (request === 'invalid') {
      channel.end(channelCloseCodes.invalidFrame, 'frames are JSON objects with id and type');
      return;
    }
    if (request === 'unknown type') {
      // An unknown request also counts towards the rate limit.
      opened.limit().catch((error: unknown) => {
        if (error instanceof AppError && error.code === 'rate_limited')
          channel.end(channelCloseCodes.tooMany, 'too many requests');
      });
      return;
    }
    channel.requestStarted();
    if (socket.readyState === socket.OPEN) this.#serveRequest(channel, request);
  }

  #rateWindowOf(tenantId: string): RateWindow {
    const known = this.#rateWindows.get(tenantId);
    if (known !== undefined) return known;
    const rateWindow = new RateWindow(maxPerWorkspace);
    this.#rateWindows.set(tenantId, rateWindow);
    return rateWindow;
  }

  /** Authenticates the devices of all channels again, spread over time. */
  #authenticateAll(): void {
    const spreadMs = this.#open.size * reauthenticateMsPerDevice;
    for (const channel of this.#open) {
      const authenticate = () => {
        if (!this.#open.has(channel)) return;
        channel.opened.authenticate().catch((error: unknown) => {
          if (error instanceof AppError && error.code === 'device_secret_invalid')
            channel.end(channelCloseCodes.revoked, revokedReason);
        });
      };
      setTimeout(authenticate, Math.random() * spreadMs).unref();
    }
  }

  /** Closes older channels of a device, here and in other processes. A broken connection may still be open there. */
  #replaceOlder(nodeId: string, channel: Channel): void {
    const older = this.#newest.get(nodeId);
    if (older !== undefined) replace(older);
    this.#newest.set(nodeId, channel);
    this.#deps.events.publish(channelTopic(nodeId), { channel: channel.id });
  }

  /** Executes a request and sends its response, or starts its poll. A failure is sent as the response. */
  #serveRequest(channel: Channel, request: DeviceRequest | InvalidRequest): void {
    const channelRequest: ChannelRequest = { channel, id: request.id };
    const serve = async () => {
      await channel.opened.limit();
      if ('problem' in request)
        throw new AppError('invalid_json', `The frame cannot be read as JSON: ${request.problem.slice(0, 200)}.`);
      if (request.type === 'poll') this.#poll(channelRequest, parsePart('body', channelPoll, request.body ?? {}));
      else this.#answer(channelRequest, { status: 200, body: await this.#execute(channel, request) });
    };
    serve().catch((error: unknown) => this.#answerError(channelRequest, error));
  }

  #poll(channelRequest: ChannelRequest, query: z.output<typeof channelPoll>): void {
    const { channel } = channelRequest;
    if (channel.isEnded) {
      this.#answer(channelRequest, { status: 200, body: { commands: [], withdrawn: [] } });
      return;
    }
    const { principal } = channel.opened;
    const context = { secretHash: principal.secretHash, isConfirmed: true, idleState: channel.idleState };
    channel.polls = [
      ...channel.polls,
      this.#deps.polls.begin(principal, query, context, this.#pollCallbacks, channelRequest),
    ];
  }

  async #execute(channel: Channel, { type, commandId, body }: DeviceRequest): Promise<unknown> {
    const { devices, results } = this.#deps;
    const { principal } = channel.opened;
    if (type === 'heartbeat')
      return devices.heartbeat(principal, parsePart('body', resource.heartbeatAutomationNode.body, body));
    // Polls and heartbeats authenticate in their own statements. The result of a revoked device is not recorded.
    const authenticated = channel.opened.authenticate();
    authenticated.catch(() => undefined);
    const params = parsePart('params', resource.completeAutomationNodeCommand.params, {
      id: principal.nodeId,
      commandId,
    });
    const result = parsePart('body', resource.completeAutomationNodeCommand.body, body);
    const recorded = await results.complete(principal, params.commandId, result, [], authenticated);
    channel.idleState.ended(params.commandId);
    return recorded;
  }

  /** Sends a response. `onSendFailure` is called when the hub did not send it completely. */
  #answer(
    { channel, id }: ChannelRequest,
    frame: Omit<HubAnswerFrame, 'id' | 'type'>,
    onSendFailure?: () => void,
  ): void {
    send(channel.socket, { id, type: 'answer', ...frame }, onSendFailure);
    channel.requestFinished();
  }

  #answerError(channelRequest: ChannelRequest, error: unknown): void {
    const { channel } = channelRequest;
    const { status, body, retryAfterSeconds } = errorResponseOf(error, channel.opened.requestId, this.#deps.logger);
    this.#answer(channelRequest, { status, body, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) });
    if (error instanceof AppError && error.code === 'device_secret_invalid')
      channel.end(channelCloseCodes.revoked, revokedReason);
  }
}

/** Removes an ended poll from its channel. */
function removePoll(poll: WaitingPoll<ChannelRequest>): void {
  const { channel } = poll.to;
  channel.polls = channel.polls.filter((one) => one !== poll);
}

const replace = (older: Channel): void =>
  older.end(channelCloseCodes.replaced, 'replaced by a newer channel of this device');

/** An invalid request with a readable `id`. */
interface InvalidRequest {
  id: number;
  problem: string;
}

function readRequest(data: Buffer): DeviceRequest | InvalidRequest | 'invalid' | 'unknown type' {
  const text = data.toString('utf8');
  let frame: unknown;
  try {
    frame = parseJsonText(text);
  } catch (error) {
    // A retry would fail in the same way, so the sender gets an error response.
    const id = /^\s*\{\s*"id"\s*:\s*(\d{1,15})\s*,/.exec(text)?.[1];
    return id === undefined ? 'invalid' : { id: Number(id), problem: (error as Error).message };
  }
  const parsed = deviceRequest.safeParse(frame);
  if (parsed.success) return parsed.data;
  const isUnknownType = isFrame(frame) && !deviceRequestTypes.some((type) => type === frame.type);
  return isUnknownType ? 'unknown type' : 'invalid';
}

const isFrame = (value: unknown): value is { type: string } =>
  typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string';

/** Sends a frame. `onSendFailure` is called when the hub did not send it completely. */
function send(socket: WebSocket, frame: HubAnswerFrame, onSendFailure: (() => void) | undefined): void {
  if (socket.readyState !== socket.OPEN) {
    onSendFailure?.();
    return;
  }
  socket.send(JSON.stringify(frame), (error) => {
    if (error !== undefined && error !== null) onSendFailure?.();
  });
}
