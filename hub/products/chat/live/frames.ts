import { z } from 'zod';
import { chatCloseCodes } from '../../../../shared/contract/chat/live.ts';
import type { WebSocket } from '../../../platform/http/live/sockets.ts';
import { parseJsonText } from '../../../platform/http/routing/json-text.ts';
import { FrameCount, frameWindowMs } from './connection.ts';

const anyFrame = z.object({ type: z.string() });

/**
 * Parses a frame. Returns null for invalid input, and `unknown` for a frame type that the schema does not list. Callers
 * ignore unknown types.
 */
export function readFrame<Frame extends z.ZodDiscriminatedUnion<readonly z.ZodObject[]>>(
  schema: Frame,
  bytes: Buffer,
): z.output<Frame> | 'unknown' | null {
  let value: unknown;
  try {
    value = parseJsonText(bytes.toString());
  } catch {
    return null;
  }
  const frame = schema.safeParse(value);
  if (frame.success) return frame.data;
  const known = anyFrame.safeParse(value);
  const types = schema.options.flatMap((option) => [...((option.shape['type'] as z.ZodLiteral).values ?? [])]);
  return known.success && !types.includes(known.data.type) ? 'unknown' : null;
}

const clientOf = Symbol('client');
type ClientSocket<Client> = WebSocket & {
  [clientOf]?: { client: Client; count: FrameCount; group: ClientGroup | null };
};

/** Sockets that share one frame limit. */
interface ClientGroup {
  id: string;
  count: FrameCount;
  sockets: number;
}

const maxFramesPerSocket = 20;
/** Limit for all sockets of a group. Pages that reconnect together each send `hello`. */
const maxFramesPerGroup = 60;

/**
 * Receives the frames of many sockets within their limits. All sockets share the same listeners, which saves memory for
 * each open socket.
 */
export class SocketFrames<Client> {
  readonly #open = new Set<WebSocket>();
  readonly #onMessage: (this: ClientSocket<Client>, data: unknown, isBinary: boolean) => void;
  readonly #onClose: (this: ClientSocket<Client>) => void;
  readonly #groups = new Map<string, ClientGroup>();
  readonly #groupOf: ((client: Client) => string) | undefined;
  #stopping: AbortSignal | undefined;

  constructor({
    onFrame,
    onDisconnect,
    groupOf,
  }: {
    onFrame: (client: Client, bytes: Buffer) => void;
    onDisconnect: (client: Client) => void;
    /** Returns the group of a socket. Sockets of a group also share one limit. */
    groupOf?: (client: Client) => string;
  }) {
    this.#groupOf = groupOf;
    const open = this.#open;
    const groups = this.#groups;
    this.#onMessage = function onMessage(this: ClientSocket<Client>, data, isBinary) {
      const attached = this[clientOf];
      if (attached === undefined || this.readyState !== this.OPEN) return;
      if (!attached.count.add())
        this.close(chatCloseCodes.tooMany, `more than ${maxFramesPerSocket} frames in 10 seconds`);
      else if (attached.group?.count.add() === false)
        this.close(chatCloseCodes.tooMany, `more than ${maxFramesPerGroup} frames of one visitor in 10 seconds`);
      else if (isBinary) this.close(chatCloseCodes.invalidFrame, 'frames must be text');
      else onFrame(attached.client, data as Buffer);
    };
    this.#onClose = function onClose(this: ClientSocket<Client>) {
      open.delete(this);
      const attached = this[clientOf];
      if (attached === undefined) return;
      const { client, group } = attached;
      if (group !== null) {
        group.sockets -= 1;
        // The group is kept for one window, so that reconnecting does not reset its count.
        setTimeout(() => {
          if (group.sockets === 0 && groups.get(group.id) === group) groups.delete(group.id);
        }, frameWindowMs).unref();
      }
      onDisconnect(client);
    };
  }

  serve(socket: WebSocket, client: Client, stopping: AbortSignal): void {
    const group = this.#joinGroup(client);
    (socket as ClientSocket<Client>)[clientOf] = { client, count: new FrameCount(maxFramesPerSocket), group };
    this.#open.add(socket);
    socket.on('message', this.#onMessage);
    socket.on('close', this.#onClose);
    if (this.#stopping !== stopping) {
      this.#stopping = stopping;
      stopping.addEventListener('abort', () => this.#open.forEach(closeForShutdown), { once: true });
    }
    if (stopping.aborted) closeForShutdown(socket);
  }

  #joinGroup(client: Client): ClientGroup | null {
    const id = this.#groupOf?.(client);
    if (id === undefined) return null;
    const group = this.#groups.get(id) ?? { id, count: new FrameCount(maxFramesPerGroup), sockets: 0 };
    this.#groups.set(id, group);
    group.sockets += 1;
    return group;
  }
}

const closeForShutdown = (socket: WebSocket): void => socket.close(1001, 'the hub is shutting down');
