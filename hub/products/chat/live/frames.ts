import { z } from 'zod';
import { chatCloseCodes } from '../../../../shared/contract/chat/live.ts';
import type { WebSocket } from '../../../platform/http/live/sockets.ts';
import { parseJsonText } from '../../../platform/http/routing/json-text.ts';
import { FrameCount, frameWindowMs } from './connection.ts';

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
type SeatedSocket<Seat> = WebSocket & { [seatOf]?: { seat: Seat; count: FrameCount; person: Person | null } };

/** Somebody whose sockets count together. */
interface Person {
  id: string;
  count: FrameCount;
  sockets: number;
}

const framesOfSocket = 20;
/** Of all sockets of one person: pages that come back together each say hello. */
const framesOfPerson = 60;

/** Hears the frames of many sockets, within their limits, with the same listeners for all: those of its own would stay as long as a socket does. */
export class SocketFrames<Seat> {
  readonly #open = new Set<WebSocket>();
  readonly #onMessage: (this: SeatedSocket<Seat>, data: unknown, isBinary: boolean) => void;
  readonly #onClose: (this: SeatedSocket<Seat>) => void;
  readonly #persons = new Map<string, Person>();
  readonly #personOf: ((seat: Seat) => string) | undefined;
  #stopping: AbortSignal | undefined;

  constructor({
    hear,
    left,
    personOf,
  }: {
    hear: (seat: Seat, bytes: Buffer) => void;
    left: (seat: Seat) => void;
    /** Whose socket it is, where all sockets of one count together, too. */
    personOf?: (seat: Seat) => string;
  }) {
    this.#personOf = personOf;
    const open = this.#open;
    const persons = this.#persons;
    this.#onMessage = function onMessage(this: SeatedSocket<Seat>, data, isBinary) {
      const seated = this[seatOf];
      if (seated === undefined || this.readyState !== this.OPEN) return;
      if (!seated.count.take()) this.close(chatCloseCodes.tooMany, `more than ${framesOfSocket} frames in 10 seconds`);
      else if (seated.person?.count.take() === false)
        this.close(chatCloseCodes.tooMany, `more than ${framesOfPerson} frames of one visitor in 10 seconds`);
      else if (isBinary) this.close(chatCloseCodes.invalidFrame, 'frames are texts');
      else hear(seated.seat, data as Buffer);
    };
    this.#onClose = function onClose(this: SeatedSocket<Seat>) {
      open.delete(this);
      const seated = this[seatOf];
      if (seated === undefined) return;
      const { seat, person } = seated;
      if (person !== null) {
        person.sockets -= 1;
        // Who comes back at once begins no new count.
        setTimeout(() => {
          if (person.sockets === 0 && persons.get(person.id) === person) persons.delete(person.id);
        }, frameWindowMs).unref();
      }
      left(seat);
    };
  }

  serve(socket: WebSocket, seat: Seat, stopping: AbortSignal): void {
    const person = this.#sit(seat);
    (socket as SeatedSocket<Seat>)[seatOf] = { seat, count: new FrameCount(framesOfSocket), person };
    this.#open.add(socket);
    socket.on('message', this.#onMessage);
    socket.on('close', this.#onClose);
    if (this.#stopping !== stopping) {
      this.#stopping = stopping;
      stopping.addEventListener('abort', () => this.#open.forEach(goAway), { once: true });
    }
    if (stopping.aborted) goAway(socket);
  }

  #sit(seat: Seat): Person | null {
    const id = this.#personOf?.(seat);
    if (id === undefined) return null;
    const person = this.#persons.get(id) ?? { id, count: new FrameCount(framesOfPerson), sockets: 0 };
    this.#persons.set(id, person);
    person.sockets += 1;
    return person;
  }
}

/** A hub that stops is asked again elsewhere. */
const goAway = (socket: WebSocket): void => socket.close(1001, 'the hub stops');
