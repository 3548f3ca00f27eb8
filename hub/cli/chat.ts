import { Option } from 'commander';
import type { Command } from 'commander';
import { inboxViews } from '../../shared/contract/chat/agent-shapes.ts';
import type { InboxConversation, InboxView } from '../../shared/contract/chat/agent-shapes.ts';
import { chat as chatContract } from '../../shared/contract/chat/chat.ts';
import { inbox as inboxContract } from '../../shared/contract/chat/inbox.ts';
import { chatPeople as peopleContract } from '../../shared/contract/chat/people.ts';
import { visibleLine } from '../../shared/visible-text.ts';
import { follow } from './chat-follow.ts';
import { assertLocalHub, withInbox } from './chat-inbox.ts';
import type { AgentOptions, Inbox } from './chat-inbox.ts';
import { messageLines } from './chat-lines.ts';
import { actor, ArgumentError, hubAddress, json, validate, withApp, workspace } from './context.ts';
import type { CommonOptions } from './context.ts';
import { hubOption, openRemoteHub } from './remote-hub.ts';
import { print, table } from './terminal.ts';

const as = () =>
  new Option(
    '--as <email>',
    'on the machine of the hub: the member to act as, named in the audit log; the first admin when omitted',
  );

const rowOf = (conversation: InboxConversation, emails: ReadonlyMap<string, string>) => ({
  id: conversation.id,
  name: visibleLine(conversation.name).slice(0, 30),
  status: conversation.snoozedUntil === null ? conversation.status : 'snoozed',
  priority: conversation.priority,
  assigned: conversation.assignedUserId === null ? '-' : (emails.get(conversation.assignedUserId) ?? '-'),
  unread: String(conversation.unreadCount),
  last: visibleLine(conversation.lastMessage?.content ?? '').slice(0, 50),
});

/** Email addresses of the assignees by user id. Reads no members when no conversation is assigned. */
async function emailsOf(inbox: Inbox, conversations: readonly InboxConversation[]): Promise<Map<string, string>> {
  const missing = new Set(conversations.flatMap(({ assignedUserId }) => assignedUserId ?? []));
  const emails = new Map<string, string>();
  if (missing.size === 0) return emails;
  for await (const { id, email } of inbox.members()) {
    if (missing.delete(id)) emails.set(id, email);
    if (missing.size === 0) break;
  }
  return emails;
}

/** Normalizes a site to its origin: removes the slash at the end. @throws ArgumentError. */
function originOf(value: string): string {
  const origin = value.replace(/\/$/, '');
  const { error } = peopleContract.putChatSettings.body.safeParse({ allowedOrigins: [origin] });
  if (error !== undefined) throw new ArgumentError(`--allow ${value}: ${error.issues[0]?.message ?? ''}`);
  return origin;
}

interface SiteChange {
  allow?: string[];
  anonymous?: true;
}

/** The change of the settings; null when there is none. */
function siteChange(allowedOrigins: readonly string[], { allow, anonymous }: SiteChange) {
  if (allow === undefined && anonymous === undefined) return null;
  return validate(peopleContract.putChatSettings.body, {
    allowedOrigins: [...new Set([...allowedOrigins, ...(allow ?? [])])],
    ...(anonymous === undefined ? {} : { allowAnonymous: true }),
  });
}

async function localSite(options: CommonOptions & SiteChange) {
  assertLocalHub();
  return withApp(async ({ identity, chat: { settings } }, config) => {
    const { id } = await identity.findWorkspace(options.workspace);
    const address = hubAddress(config);
    const now = await settings.show(id, address);
    const patch = siteChange(now.allowedOrigins, options);
    return patch === null ? now : settings.change(id, patch, actor, address);
  });
}

async function remoteSite(hub: string, options: SiteChange) {
  const { client, tenantId } = await openRemoteHub(hub);
  const now = await client.call('getChatSettings', { params: { tenantId } });
  const body = siteChange(now.allowedOrigins, options);
  return body === null ? now : client.call('putChatSettings', { params: { tenantId }, body });
}

/** Commands that list, follow and answer conversations. */
export function addChatCommands(program: Command): void {
  const chat = program.command('chat').description('conversations of Live Chat');
  const addConversationCommand = (name: string, description: string) =>
    chat
      .command(name)
      .description(description)
      .argument(
        '<id>',
        'id of the conversation, as shown by chat list',
        (value) => validate(inboxContract.getInboxConversation.params.pick({ id: true }), { id: value }).id,
      )
      .addOption(workspace())
      .addOption(as())
      .addOption(hubOption())
      .addOption(json());
  const addStatusCommand = (name: string, description: string, status: 'open' | 'pending' | 'resolved' | 'closed') =>
    addConversationCommand(name, description).action(async (id: string, options: AgentOptions) => {
      const changed = await withInbox(options, (inbox) => inbox.setStatus(id, status));
      print(changed, options.json, `${changed.id} is ${changed.status}`);
    });

  chat
    .command('list')
    .description('list conversations, newest message first')
    .addOption(new Option('--view <view>', 'view of the inbox').choices(inboxViews).default('open'))
    .addOption(workspace())
    .addOption(as())
    .addOption(hubOption())
    .addOption(json())
    .action(async (options: AgentOptions & { view: InboxView }) => {
      const { data, emails } = await withInbox(options, async (inbox) => {
        const listed = await inbox.list(options.view, 50);
        return { data: listed, emails: await emailsOf(inbox, listed) };
      });
      print(data, options.json, table(data.map((conversation) => rowOf(conversation, emails))));
    });
  addConversationCommand('show', 'show the messages, including private notes').action(
    async (id: string, options: AgentOptions) => {
      const data = await withInbox(options, (inbox) => inbox.messages(id, { limit: 100 }));
      print(
        data,
        options.json,
        data.length === 0 ? 'no messages yet' : data.map((message) => messageLines(message)).join('\n'),
      );
    },
  );
  addConversationCommand('reply', 'reply to a visitor')
    .argument('<text>', 'text of the reply')
    .option('--note', 'send as a private note, which only agents see')
    .action(async (id: string, text: string, options: AgentOptions & { note?: boolean }) => {
      const message = { content: text, private: options.note === true };
      validate(inboxContract.sendInboxMessage.body, message);
      const sent = await withInbox(options, (inbox) => inbox.send(id, message));
      print(sent, options.json, messageLines(sent));
    });
  addStatusCommand('open', 'reopen a conversation', 'open');
  addStatusCommand('resolve', 'mark a conversation as resolved; a message of its visitor reopens it', 'resolved');
  addStatusCommand(
    'close',
    'close a conversation; the next message of its visitor starts another one, and the visitor is asked for a rating if the settings of the chat say so',
    'closed',
  );
  addConversationCommand('assign', 'assign a conversation')
    .argument('<email>', 'email address of a member; "nobody" removes the assignment')
    .action(async (id: string, email: string, options: AgentOptions) => {
      const changed = await withInbox(options, (inbox) => inbox.assign(id, email === 'nobody' ? null : email));
      print(changed, options.json, `${changed.id} is assigned to ${email}`);
    });
  chat
    .command('follow')
    .description(
      'print new messages of all conversations or of one; with one, typed lines are sent as replies, and "/note TEXT" as a private note',
    )
    .argument('[id]', 'id of one conversation')
    .addOption(workspace())
    .addOption(as())
    .addOption(hubOption())
    .addOption(json())
    .action((id: string | undefined, options: AgentOptions) => follow(options, id));
  chat
    .command('site')
    .description('print the HTML snippet that adds the chat to a site, and allow sites to show the chat')
    .option(
      '--allow <origin...>',
      'further sites that may show the chat, such as https://www.example.com',
      (value, others: string[] | undefined) => [...(others ?? []), originOf(value)],
    )
    .option('--anonymous', 'let visitors without a token start a conversation')
    .addOption(workspace())
    .addOption(hubOption())
    .addOption(json())
    .action(async (options: CommonOptions & { allow?: string[]; anonymous?: true; hub?: string }) => {
      const { hub } = options;
      const site = hub === undefined ? await localSite(options) : await remoteSite(hub, options);
      const allowed = site.allowedOrigins.length === 0 ? 'no site yet; use --allow' : site.allowedOrigins.join(', ');
      print(site, options.json, `${site.snippet}\n\nAllowed sites: ${allowed}`);
    });
  chat
    .command('link')
    .description('create a link to the hosted chat page for a visitor, valid for one day')
    .argument('<externalId>', 'your stable id of the visitor')
    .option('--name <name>', 'display name for agents')
    .addOption(workspace())
    .addOption(json())
    .action(async (externalId: string, options: CommonOptions & { name?: string }) => {
      const body = validate(chatContract.createChatSession.body, { externalId, displayName: options.name });
      assertLocalHub();
      const minted = await withApp(async ({ identity, chat: { conversations } }, config) =>
        conversations.mint(
          (await identity.findWorkspace(options.workspace)).id,
          body,
          { actor, environment: 'live' },
          hubAddress(config),
        ),
      );
      print(minted, options.json, minted.chatUrl);
    });
}
