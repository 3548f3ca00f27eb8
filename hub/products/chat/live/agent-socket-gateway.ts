import { agentRequestFrame, chatCloseCodes, chatSockets, chatStreams } from '../../../../shared/contract/chat/live.ts';
import type { Publisher } from '../../../platform/events/events.ts';
import { streamEvents } from '../../../platform/http/live/event-stream.ts';
import type { OpenedSocket } from '../../../platform/http/live/sockets.ts';
import type { OperationRequest } from '../../../platform/http/routing/implement.ts';
import type { AgentPresences } from '../agents/index.ts';
import { publishChatChange } from '../changes/index.ts';
import { failureOf, SocketConnection, StreamConnection } from './connection.ts';
import { readFrame, SocketFrames } from './frames.ts';
import type { LiveChat } from './live-chat.ts';
import type { LocalView } from './viewers.ts';

interface Client {
  tenantId: string;
  userId: string;
  /** Display name that visitors see. */
  name: string | null;
  connection: SocketConnection;
  view: LocalView | null;
}

/**
 * Serves the live connections of agents: sockets and event streams. Handles their presence, viewing and typing frames.
 */
export class AgentSocketGateway {
  readonly #live: LiveChat;
  readonly #events: Publisher;
  readonly #presences: AgentPresences;
  readonly #frames: SocketFrames<Client>;

  constructor(live: LiveChat, events: Publisher, presences: AgentPresences) {
    this.#live = live;
    this.#events = events;
    this.#presences = presences;
    this.#frames = new SocketFrames({
      onFrame: (client, bytes) => this.#onFrame(client, bytes),
      onDisconnect: (client) => {
        live.agents.leave(client.tenantId, client.connection);
        presences.disconnected(client.tenantId, client.userId);
        this.#view(client, null);
      },
    });
  }

  openSocket({ socket, principal, stopping }: OpenedSocket<typeof chatSockets.connectAgent>): void {
    const { tenantId, user } = principal;
    const connection = new SocketConnection(socket);
    this.#live.agents.enter(tenantId, connection);
    this.#presences.connected(tenantId, user.id);
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
      this.#presences.connected(tenantId, user.id);
      try {
        this.#live.agents.requestSync(tenantId, connection);
        await connection.ended;
      } finally {
        this.#live.agents.leave(tenantId, connection);
        this.#presences.disconnected(tenantId, user.id);
      }
    });
  }

  #onFrame(client: Client, bytes: Buffer): void {
    const { tenantId, userId, name, connection } = client;
    const frame = readFrame(agentRequestFrame, bytes);
    if (frame === null)
      connection.close(chatCloseCodes.invalidFrame, 'frames must be JSON objects that match the protocol');
    else if (frame === 'unknown') return;
    else if (frame.type === 'hello') this.#live.agents.requestSync(tenantId, connection);
    else if (frame.type === 'view') this.#view(client, frame.conversationId);
    else if (frame.type === 'typing')
      publishChatChange(this.#events, tenantId, frame.conversationId, {
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

  #view(client: Client, conversationId: string | null): void {
    const { tenantId, userId, view } = client;
    if (view?.conversationId === conversationId) return;
    client.view = null;
    if (view !== null && this.#live.viewers.remove(view))
      publishChatChange(this.#events, tenantId, view.conversationId, { kind: 'viewing', userId, viewing: false });
    if (conversationId === null) return;
    client.view = { tenantId, userId, conversationId };
    this.#live.viewers.add(client.view);
    publishChatChange(this.#events, tenantId, conversationId, { kind: 'viewing', userId, viewing: true });
  }
}
