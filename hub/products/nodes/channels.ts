import { channelCloseCodes, channelPoll, deviceRequest, nodeChannel } from '../../../shared/contract/nodes/channel.ts';
import type { DeviceRequest, HubAnswerFrame } from '../../../shared/contract/nodes/channel.ts';
import { nodes as resource } from '../../../shared/contract/nodes/nodes.ts';
import { AppError } from '../../../shared/errors.ts';
import { answerToError, parsePart } from '../../platform/http/errors.ts';
import { implementSocket } from '../../platform/http/sockets.ts';
import type { OpenedSocket, SocketRoute, WebSocket } from '../../platform/http/sockets.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Devices } from './devices.ts';
import type { CommandResults } from './results.ts';

export interface NodeChannelsDependencies {
  devices: Devices;
  results: CommandResults;
  logger: Logger;
}

type Opened = OpenedSocket<typeof nodeChannel.connectAutomationNode>;

/** Requests of a device that are worked on at once; the connection is not read on until there are fewer. */
const maxAtOnce = 16;
/** What one read of the connection may bring beyond that. */
const maxRequests = 256;

/** The open channels of devices: each request of theirs is carried out as the operation that it stands for. */
export class NodeChannels {
  readonly #deps: NodeChannelsDependencies;
  readonly #open = new Map<string, WebSocket>();

  constructor(dependencies: NodeChannelsDependencies) {
    this.#deps = dependencies;
  }

  get route(): SocketRoute {
    return implementSocket(nodeChannel.connectAutomationNode, (opened) => this.#serve(opened));
  }

  #serve(opened: Opened): void {
    const { socket, principal, stopping } = opened;
    const { nodeId } = principal;
    // A device has one companion, and a connection that it gave up may not know it yet.
    const older = this.#open.get(nodeId);
    if (older !== undefined) end(older, channelCloseCodes.replaced, 'another channel of this device took its place');
    this.#open.set(nodeId, socket);
    const ended = new AbortController();
    let underWay = 0;
    const closeIfIdle = () => {
      if (underWay === 0) end(socket, 1001, 'the hub stops');
    };
    const onStop = () => {
      // Polls end empty; what is being recorded is still answered.
      ended.abort();
      closeIfIdle();
    };
    stopping.addEventListener('abort', onStop, { once: true });
    socket.once('close', () => {
      stopping.removeEventListener('abort', onStop);
      if (this.#open.get(nodeId) === socket) this.#open.delete(nodeId);
      ended.abort();
    });
    socket.on('message', (data, isBinary) => {
      if (isBinary || socket.readyState !== socket.OPEN) return;
      const request = readRequest(data as Buffer);
      if (request === 'not understood') {
        end(socket, channelCloseCodes.notUnderstood, 'frames are JSON objects with id and type');
        return;
      }
      if (request === 'of another type') return;
      underWay += 1;
      if (underWay > maxRequests) {
        end(socket, channelCloseCodes.tooMany, `more than ${maxRequests} requests at once`);
        return;
      }
      if (underWay >= maxAtOnce) socket.pause();
      void this.#answer(opened, request, ended.signal).finally(() => {
        underWay -= 1;
        if (socket.isPaused && underWay < maxAtOnce) socket.resume();
        if (stopping.aborted) closeIfIdle();
      });
    });
    if (stopping.aborted) onStop();
  }

  async #answer(opened: Opened, request: DeviceRequest, signal: AbortSignal): Promise<void> {
    const { socket, requestId } = opened;
    const answer = (frame: Omit<HubAnswerFrame, 'id' | 'type'>, onLost?: () => void) =>
      send(socket, { id: request.id, type: 'answer', ...frame }, onLost);
    try {
      await opened.limit();
      const { body, onLost } = await this.#carryOut(opened, request, signal);
      answer({ status: 200, body }, onLost);
    } catch (error) {
      const { status, body, retryAfterSeconds } = answerToError(error, requestId, this.#deps.logger);
      answer({ status, body, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) });
      if (error instanceof AppError && error.code === 'device_secret_invalid')
        end(socket, channelCloseCodes.revoked, 'this device is not paired any more');
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

function readRequest(data: Buffer): DeviceRequest | 'not understood' | 'of another type' {
  const text = data.toString('utf8');
  let frame: unknown;
  try {
    // No field of ours has this name, and as a key of an object it would do harm further in.
    frame = text.includes('"__proto__"') ? undefined : JSON.parse(text);
  } catch {
    return 'not understood';
  }
  const parsed = deviceRequest.safeParse(frame);
  if (parsed.success) return parsed.data;
  return isFrame(frame) && parsed.error.issues.every(({ path }) => path[0] === 'type')
    ? 'of another type'
    : 'not understood';
}

const isFrame = (value: unknown): value is { type: string } =>
  typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string';

/** Closes a channel; what still comes through it is thrown away. */
function end(socket: WebSocket, code: number, reason: string): void {
  socket.close(code, reason);
  // The other side's word that it closes, too, could not be read else.
  socket.resume();
}

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
