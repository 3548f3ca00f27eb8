import { agentRequestFrame, chatCloseCodes, chatSockets, chatStreams } from '../../../../shared/contract/chat/live.ts';
import { streamEvents } from '../../../platform/http/live/event-stream.ts';
import type { OpenedSocket } from '../../../platform/http/live/sockets.ts';
import type { OperationRequest } from '../../../platform/http/routing/implement.ts';
import type { AgentPresences } from '../agents/index.ts';
import type { ChatChanges } from '../changes/index.ts';
import { failureOf, SocketConnection, StreamConnection } from './connection.ts';
import { readFrame, SocketFrames } from './frames.ts';
import type { LiveChat } from './live-chat.ts';
import type { LocalView } from './viewers.ts';

interface Seat {
  tenantId: string;
  userId: string;
  /** What visitors see of the member. */
  name: string | null;
  connection: SocketConnection;
  view: LocalView | null;
}

/** The ways in for agents, and what they show of themselves. */
export class AgentSocketGateway {
  readonly #live: LiveChat;
  readonly #changes: ChatChanges;
  readonly #presences: AgentPresences;
  readonly #frames: SocketFrames<Seat>;

  constructor(live: LiveChat, changes: ChatChanges, presences: AgentPresences) {
    this.#live = live;
    this.#changes = changes;
    this.#presences = presences;
    this.#frames = new SocketFrames({
      hear: (seat, bytes) => this.#hear(seat, bytes),
      left: (seat) => {
        live.agents.leave(seat.tenantId, seat.connection);
        presences.left(seat.tenantId, seat.userId);
        this.#view(seat, null);
      },
    });
  }

  openSocket({ socket, principal, stopping }: OpenedSocket<typeof chatSockets.connectAgent>): void {
    const { tenantId, user } = principal;
    const connection = new SocketConnection(socket);
    this.#live.agents.enter(tenantId, connection);
    this.#presences.came(tenantId, user.id);
    this.#frames.serve(socket, { tenantId, userId: user.id, name: user.displayName, connection, view: null }, stopping);
  }

  async openStream({
    principal: { tenantId, user },
    raw,
    signal,
  }: OperationRequest<typeof chatStreams.streamInboxEvents>): Promise<void> {
    const { maxOpenSeconds: maxSeconds } = chatStreams.streamInboxEvents;
    await streamEvents(raw.response, signal, { maxSeconds }, async (stream) => {
      const connection = new StreamConnection(stream, () => raw.response.writableLength);
      this.#live.agents.enter(tenantId, connection);
      this.#presences.came(tenantId, user.id);
      try {
        this.#live.agents.hello(tenantId, connection);
        await connection.ended;
      } finally {
        this.#live.agents.leave(tenantId, connection);
        this.#presences.left(tenantId, user.id);
      }
    });
  }

  #hear(seat: Seat, bytes: Buffer): void {
    const { tenantId, userId, name, connection } = seat;
    const frame = readFrame(agentRequestFrame, bytes);
    if (frame === null) connection.close(chatCloseCodes.invalidFrame, 'frames are JSON objects of the protocol');
    else if (frame === 'unknown') return;
    else if (frame.type === 'hello') this.#live.agents.hello(tenantId, connection);
    else if (frame.type === 'view') this.#view(seat, frame.conversationId);
    else if (frame.type === 'typing')
      this.#changes.tell(tenantId, frame.conversationId, {
        kind: 'typing',
        who: 'agent',
        userId,
        name,
        typing: frame.typing,
      });
    else
      this.#presences
        .set(tenantId, userId, frame.presence)
        .catch((error: unknown) => connection.send(failureOf(error)));
  }

  #view(seat: Seat, conversationId: string | null): void {
    const { tenantId, userId, view } = seat;
    if (view?.conversationId === conversationId) return;
    seat.view = null;
    if (view !== null && this.#live.viewers.release(view))
      this.#changes.tell(tenantId, view.conversationId, { kind: 'viewing', userId, viewing: false });
    if (conversationId === null) return;
    seat.view = { tenantId, userId, conversationId };
    this.#live.viewers.hold(seat.view);
    this.#changes.tell(tenantId, conversationId, { kind: 'viewing', userId, viewing: true });
  }
}
