import {
  chatCloseCodes,
  chatSockets,
  chatStreams,
  visitorRequestFrame,
} from '../../../../shared/contract/chat/live.ts';
import type { Publisher } from '../../../platform/events/events.ts';
import { streamEvents } from '../../../platform/http/live/event-stream.ts';
import type { OpenedSocket } from '../../../platform/http/live/sockets.ts';
import type { OperationRequest } from '../../../platform/http/routing/implement.ts';
import { publishChatChange } from '../changes/index.ts';
import { SocketConnection, StreamConnection } from './connection.ts';
import { readFrame, SocketFrames } from './frames.ts';
import type { LiveChat } from './live-chat.ts';
import type { VisitorMarks } from './visitor-marks.ts';

interface Client {
  tenantId: string;
  conversationId: string;
  visitorId: string;
  connection: SocketConnection;
  subscriber: ReturnType<LiveChat['visitors']['enter']>;
}

/** Serves the live connections of visitors: sockets, and event streams for networks that block sockets. */
export class VisitorSocketGateway {
  readonly #live: LiveChat;
  readonly #events: Publisher;
  readonly #marks: VisitorMarks;
  readonly #frames: SocketFrames<Client>;

  constructor(live: LiveChat, events: Publisher, marks: VisitorMarks) {
    this.#live = live;
    this.#events = events;
    this.#marks = marks;
    this.#frames = new SocketFrames({
      onFrame: (client, bytes) => this.#onFrame(client, bytes),
      onDisconnect: ({ conversationId, subscriber }) => live.visitors.leave(conversationId, subscriber),
      groupOf: ({ visitorId }) => visitorId,
    });
  }

  openSocket({ socket, principal, stopping }: OpenedSocket<typeof chatSockets.connectVisitor>): void {
    const { tenantId, conversationId, visitorId } = principal;
    const connection = new SocketConnection(socket);
    const subscriber = this.#live.visitors.enter({ tenantId, conversationId }, connection);
    this.#frames.serve(socket, { tenantId, conversationId, visitorId, connection, subscriber }, stopping);
  }

  async openStream({
    principal: { tenantId, conversationId },
    query,
    headers,
    raw,
    signal,
  }: OperationRequest<typeof chatStreams.streamVisitorEvents>): Promise<void> {
    const given = headers['last-event-id'] ?? query.after;
    // Without a position, the stream starts with the next message.
    const after = typeof given === 'string' && /^\d{1,10}$/.test(given) ? Number(given) : Number.MAX_SAFE_INTEGER;
    const key = { tenantId, conversationId };
    const { maxOpenSeconds: maxSeconds } = chatStreams.streamVisitorEvents;
    await streamEvents(raw.response, signal, { maxSeconds }, async (stream) => {
      const connection = new StreamConnection(stream, () => raw.response.writableLength);
      const subscriber = this.#live.visitors.enter(key, connection);
      try {
        await this.#live.visitors.catchUp(key, subscriber, after);
        await connection.ended;
      } finally {
        this.#live.visitors.leave(conversationId, subscriber);
      }
    });
  }

  #onFrame(client: Client, bytes: Buffer): void {
    const { tenantId, conversationId, connection, subscriber } = client;
    const frame = readFrame(visitorRequestFrame, bytes);
    if (frame === null)
      connection.close(chatCloseCodes.invalidFrame, 'frames must be JSON objects that match the protocol');
    else if (frame === 'unknown') return;
    else if (frame.type === 'hello')
      this.#live.visitors.catchUpInBackground({ tenantId, conversationId }, subscriber, frame.after);
    else if (frame.type === 'typing')
      publishChatChange(this.#events, tenantId, conversationId, {
        kind: 'typing',
        who: 'visitor',
        userId: null,
        name: null,
        typing: frame.typing,
      });
    else this.#marks.note({ tenantId, conversationId }, frame.seq, connection);
  }
}
