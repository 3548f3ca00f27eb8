import type { InboxConversation, InboxMessage, InboxView } from '../../shared/contract/chat/agent-shapes.ts';
import { AppError } from '../../shared/errors.ts';
import type { App } from '../app.ts';
import { readPostgresUrl } from '../platform/postgres-server/server.ts';
import { commandLines } from '../platform/process/command-lines.ts';
import { actor, ArgumentError, loadConfig, withApp } from './context.ts';
import type { CommonOptions } from './context.ts';
import { openRemoteHub } from './remote-hub.ts';
import type { RemoteHub } from './remote-hub.ts';

/** Options of commands that act as a member. */
export interface AgentOptions extends CommonOptions {
  as?: string;
  hub?: string;
}

type Status = 'open' | 'pending' | 'resolved' | 'closed';

/** The inbox of one member, on a local or a remote hub. */
export interface Inbox {
  list: (view: InboxView, limit: number) => Promise<readonly InboxConversation[]>;
  /** All members of the workspace. */
  members: () => AsyncIterable<{ id: string; email: string }>;
  show: (id: string) => Promise<InboxConversation>;
  messages: (id: string, page: { limit: number; after?: string }) => Promise<readonly InboxMessage[]>;
  setStatus: (id: string, status: Status) => Promise<InboxConversation>;
  /** @param email null removes the assignment. */
  assign: (id: string, email: string | null) => Promise<InboxConversation>;
  send: (id: string, message: { content: string; private: boolean }) => Promise<InboxMessage>;
}

/**
 * Runs `work` with the inbox of the signed-in member of a remote hub, or of the hub of this data folder.
 * @param requiresRunningHub see `withApp`.
 * @throws AppError when there is no hub.
 */
export async function withInbox<Result>(
  options: AgentOptions,
  work: (inbox: Inbox) => Promise<Result>,
  { requiresRunningHub = false }: { requiresRunningHub?: boolean } = {},
): Promise<Result> {
  if (options.hub === undefined) {
    assertLocalHub();
    return withApp(async (app) => work(await openLocalInbox(app, options)), { requiresRunningHub });
  }
  if (options.as !== undefined)
    throw new ArgumentError('--as works only on the machine of the hub; with --hub you act as the signed-in member');
  return work(openRemoteInbox(await openRemoteHub(options.hub)));
}

/**
 * Conversations exist only when a hub has run on this data folder. @throws AppError `not_found` that says what to do.
 */
export function assertLocalHub(): void {
  const { home, database } = loadConfig();
  if (database.url !== null || readPostgresUrl(home) !== null) return;
  throw new AppError(
    'not_found',
    `There is no hub in the data folder ${home}. Set OUTRIGGER_HOME to the data folder of the hub, or use a hub on another machine with --hub URL.`,
  );
}

async function openLocalInbox(
  { identity, chat: { inbox } }: App,
  { workspace: name, as }: AgentOptions,
): Promise<Inbox> {
  const { id: tenantId } = await identity.findWorkspace(name);
  const memberId = async (email?: string) => {
    const userId = await identity.members.find(tenantId, email);
    if (userId !== null) return userId;
    throw new AppError(
      'not_found',
      email === undefined
        ? `The workspace ${name} has no member; add one with: ${commandLines.hub} user create`
        : `${email} is not a member of the workspace ${name}`,
    );
  };
  const agent = { tenantId, userId: await memberId(as) };
  // The operator acts as a member who did not sign in, which the audit log records.
  const audit = (what: string, id: string | null) =>
    identity.members.recordImpersonation(tenantId, agent.userId, actor, {
      command: `chat ${what}`,
      conversationId: id,
    });
  return {
    async list(view, limit) {
      if (as !== undefined) await audit('list', null);
      return (await inbox.list(agent, { view, limit })).data;
    },
    members: () => allItems((query) => identity.members.list(tenantId, query, 'agent')),
    show: (id) => inbox.show(agent, id),
    messages: async (id, page) => (await inbox.messages(agent, id, page)).data,
    async setStatus(id, status) {
      await audit(`status ${status}`, id);
      return inbox.update(agent, id, { status });
    },
    async assign(id, email) {
      const userId = email === null ? null : await memberId(email);
      await audit('assign', id);
      return inbox.assign(agent, id, { userId });
    },
    async send(id, message) {
      await audit(message.private ? 'note' : 'reply', id);
      return inbox.send(agent, id, { ...message, attachmentIds: [] });
    },
  };
}

function openRemoteInbox({ client, tenantId }: RemoteHub): Inbox {
  const of = (id: string) => ({ tenantId, id });
  const members = () => allItems((query) => client.call('listMembers', { params: { tenantId }, query }));
  return {
    members,
    list: async (view, limit) =>
      (await client.call('listInboxConversations', { params: { tenantId }, query: { view, limit } })).data,
    show: (id) => client.call('getInboxConversation', { params: of(id) }),
    messages: async (id, query) => (await client.call('listInboxMessages', { params: of(id), query })).data,
    setStatus: (id, status) => client.call('updateInboxConversation', { params: of(id), body: { status } }),
    async assign(id, email) {
      const userId = email === null ? null : await findMember(members(), email);
      return client.call('assignInboxConversation', { params: of(id), body: { userId } });
    },
    send: (id, body) => client.call('sendInboxMessage', { params: of(id), body }),
  };
}

interface Page<Item> {
  data: readonly Item[];
  meta: { nextCursor: string | null };
}

/** Iterates over all items of a paginated list. */
async function* allItems<Item>(read: (query: { limit: number; cursor?: string }) => Promise<Page<Item>>) {
  let cursor: string | undefined;
  do {
    const { data, meta } = await read({ limit: 100, ...(cursor === undefined ? {} : { cursor }) });
    yield* data;
    cursor = meta.nextCursor ?? undefined;
  } while (cursor !== undefined);
}

/** @throws AppError `not_found`. */
async function findMember(members: ReturnType<Inbox['members']>, email: string): Promise<string> {
  for await (const member of members) if (member.email === email.toLowerCase()) return member.id;
  throw new AppError('not_found', `${email} is not a member of this workspace`);
}
