import { z } from 'zod';
import { chatCloseCodes } from '../../../../shared/contract/chat/live.ts';
import { parseJsonText } from '../../../platform/http/json-text.ts';
import type { WebSocket } from '../../../platform/http/sockets.ts';
import { FrameCount } from './connection.ts';

const anyFrame = z.object({ type: z.string() });

/** What a frame says: null for rubbish, and `unknown` for one of another type, which is left out of account. */
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

const seatOf = Symbol('seat');
type SeatedSocket<Seat> = WebSocket & { [seatOf]?: { seat: Seat; count: FrameCount } };

/** Hears the frames of many sockets, within their limits, with the same listeners for all: those of its own would stay as long as a socket does. */
export class SocketFrames<Seat> {
  readonly #open = new Set<WebSocket>();
  readonly #onMessage: (this: SeatedSocket<Seat>, data: unknown, isBinary: boolean) => void;
  readonly #onClose: (this: SeatedSocket<Seat>) => void;
  #stopping: AbortSignal | undefined;

  constructor({ hear, left }: { hear: (seat: Seat, bytes: Buffer) => void; left: (seat: Seat) => void }) {
    const open = this.#open;
    this.#onMessage = function onMessage(this: SeatedSocket<Seat>, data, isBinary) {
      const seated = this[seatOf];
      if (seated === undefined || this.readyState !== this.OPEN) return;
      if (!seated.count.take()) this.close(chatCloseCodes.tooMany, 'more than 20 frames in 10 seconds');
      else if (isBinary) this.close(chatCloseCodes.notUnderstood, 'frames are texts');
      else hear(seated.seat, data as Buffer);
    };
    this.#onClose = function onClose(this: SeatedSocket<Seat>) {
      open.delete(this);
      if (this[seatOf] !== undefined) left(this[seatOf].seat);
    };
  }

  serve(socket: WebSocket, seat: Seat, stopping: AbortSignal): void {
    (socket as SeatedSocket<Seat>)[seatOf] = { seat, count: new FrameCount() };
    this.#open.add(socket);
    socket.on('message', this.#onMessage);
    socket.on('close', this.#onClose);
    if (this.#stopping !== stopping) {
      this.#stopping = stopping;
      stopping.addEventListener('abort', () => this.#open.forEach(goAway), { once: true });
    }
    if (stopping.aborted) goAway(socket);
  }
}

/** A hub that stops is asked again elsewhere. */
const goAway = (socket: WebSocket): void => socket.close(1001, 'the hub stops');
