import {
  chatCloseCodes,
  chatSockets,
  chatStreams,
  visitorRequestFrame,
} from '../../../../shared/contract/chat/live.ts';
import { streamEvents } from '../../../platform/http/live/event-stream.ts';
import type { OpenedSocket } from '../../../platform/http/live/sockets.ts';
import type { OperationRequest } from '../../../platform/http/routing/implement.ts';
import type { ChatChanges } from '../changes/index.ts';
import { SocketConnection, StreamConnection } from './connection.ts';
import { readFrame, SocketFrames } from './frames.ts';
import type { LiveChat } from './live-chat.ts';
import type { VisitorMarks } from './visitor-marks.ts';

interface Seat {
  tenantId: string;
  conversationId: string;
  visitorId: string;
  connection: SocketConnection;
  guest: ReturnType<LiveChat['visitors']['enter']>;
}

/** The ways in for visitors: sockets, and streams where those are blocked. */
export class VisitorSocketGateway {
  readonly #live: LiveChat;
  readonly #changes: ChatChanges;
  readonly #marks: VisitorMarks;
  readonly #frames: SocketFrames<Seat>;

  constructor(live: LiveChat, changes: ChatChanges, marks: VisitorMarks) {
    this.#live = live;
    this.#changes = changes;
    this.#marks = marks;
    this.#frames = new SocketFrames({
      hear: (seat, bytes) => this.#hear(seat, bytes),
      left: ({ conversationId, guest }) => live.visitors.leave(conversationId, guest),
      personOf: ({ visitorId }) => visitorId,
    });
  }

  openSocket({ socket, principal, stopping }: OpenedSocket<typeof chatSockets.connectVisitor>): void {
    const { tenantId, conversationId, visitorId } = principal;
    const connection = new SocketConnection(socket);
    const guest = this.#live.visitors.enter({ tenantId, conversationId }, connection);
    this.#frames.serve(socket, { tenantId, conversationId, visitorId, connection, guest }, stopping);
  }

  async openStream({
    principal: { tenantId, conversationId },
    query,
    headers,
    raw,
    signal,
  }: OperationRequest<typeof chatStreams.streamVisitorEvents>): Promise<void> {
    const given = headers['last-event-id'] ?? query.after;
    // Without a place to go on from, what comes from now on.
    const after = typeof given === 'string' && /^\d{1,10}$/.test(given) ? Number(given) : Number.MAX_SAFE_INTEGER;
    const key = { tenantId, conversationId };
    const { maxOpenSeconds: maxSeconds } = chatStreams.streamVisitorEvents;
    await streamEvents(raw.response, signal, { maxSeconds }, async (stream) => {
      const connection = new StreamConnection(stream, () => raw.response.writableLength);
      const guest = this.#live.visitors.enter(key, connection);
      try {
        await this.#live.visitors.catchUp(key, guest, after);
        await connection.ended;
      } finally {
        this.#live.visitors.leave(conversationId, guest);
      }
    });
  }

  #hear(seat: Seat, bytes: Buffer): void {
    const { tenantId, conversationId, connection, guest } = seat;
    const frame = readFrame(visitorRequestFrame, bytes);
    if (frame === null) connection.close(chatCloseCodes.invalidFrame, 'frames are JSON objects of the protocol');
    else if (frame === 'unknown') return;
    else if (frame.type === 'hello') void this.#live.visitors.catchUp({ tenantId, conversationId }, guest, frame.after);
    else if (frame.type === 'typing')
      this.#changes.tell(tenantId, conversationId, {
        kind: 'typing',
        who: 'visitor',
        userId: null,
        name: null,
        typing: frame.typing,
      });
    else this.#marks.note({ tenantId, conversationId }, frame.seq, connection);
  }
}
