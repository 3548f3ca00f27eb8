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
    'on the machine of the hub: as which member, in the audit log; the first admin when left out',
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

/** Email addresses of the assignees by their ids. Reads no member when nothing is assigned. */
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

/** A site as a browser names it; people copy it with a slash. @throws ArgumentError */
function originOf(given: string): string {
  const origin = given.replace(/\/$/, '');
  const { error } = peopleContract.putChatSettings.body.safeParse({ allowedOrigins: [origin] });
  if (error !== undefined) throw new ArgumentError(`--allow ${given}: ${error.issues[0]?.message ?? ''}`);
  return origin;
}

interface SiteChange {
  allow?: string[];
  anonymous?: true;
}

/** What to change of the settings; null for nothing. */
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

/** Conversations on a terminal: listed, followed, answered. */
export function addChatCommands(program: Command): void {
  const chat = program.command('chat').description('conversations of Live Chat');
  const addConversationCommand = (name: string, description: string) =>
    chat
      .command(name)
      .description(description)
      .argument(
        '<id>',
        'of the conversation, as chat list shows it',
        (given) => validate(inboxContract.getInboxConversation.params.pick({ id: true }), { id: given }).id,
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
    .description('list conversations, the newest message first')
    .addOption(new Option('--view <view>', 'which').choices(inboxViews).default('open'))
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
  addConversationCommand('show', 'show what was written, private notes included').action(
    async (id: string, options: AgentOptions) => {
      const data = await withInbox(options, (inbox) => inbox.messages(id, { limit: 100 }));
      print(
        data,
        options.json,
        data.length === 0 ? 'nothing was written yet' : data.map((message) => messageLines(message)).join('\n'),
      );
    },
  );
  addConversationCommand('reply', 'reply to a visitor')
    .argument('<text>', 'what to say')
    .option('--note', 'as a private note, which only agents see')
    .action(async (id: string, text: string, options: AgentOptions & { note?: boolean }) => {
      const message = { content: text, private: options.note === true };
      validate(inboxContract.sendInboxMessage.body, message);
      const sent = await withInbox(options, (inbox) => inbox.send(id, message));
      print(sent, options.json, messageLines(sent));
    });
  addStatusCommand('open', 'open a conversation again', 'open');
  addStatusCommand('resolve', 'mark a conversation as resolved; a message of its visitor opens it again', 'resolved');
  addStatusCommand('close', 'close a conversation for good; its visitor is asked how it was', 'closed');
  addConversationCommand('assign', 'assign a conversation')
    .argument('<email>', 'of a member; nobody takes it back')
    .action(async (id: string, email: string, options: AgentOptions) => {
      const changed = await withInbox(options, (inbox) => inbox.assign(id, email === 'nobody' ? null : email));
      print(changed, options.json, `${changed.id} is assigned to ${email}`);
    });
  chat
    .command('follow')
    .description(
      'print what is written, in all conversations or in one; there, what you type is sent, and "/note TEXT" is a private note',
    )
    .argument('[id]', 'of one conversation')
    .addOption(workspace())
    .addOption(as())
    .addOption(hubOption())
    .addOption(json())
    .action((id: string | undefined, options: AgentOptions) => follow(options, id));
  chat
    .command('site')
    .description('print the lines that put the chat on a site, and allow sites to show it')
    .option(
      '--allow <origin...>',
      'sites that may show it besides, such as https://www.example.com',
      (given, others: string[] | undefined) => [...(others ?? []), originOf(given)],
    )
    .option('--anonymous', 'let visitors without a token begin a conversation')
    .addOption(workspace())
    .addOption(hubOption())
    .addOption(json())
    .action(async (options: CommonOptions & { allow?: string[]; anonymous?: true; hub?: string }) => {
      const { hub } = options;
      const site = hub === undefined ? await localSite(options) : await remoteSite(hub, options);
      const allowed = site.allowedOrigins.length === 0 ? 'no site yet: see --allow' : site.allowedOrigins.join(', ');
      print(site, options.json, `${site.snippet}\n\nMay be shown by: ${allowed}`);
    });
  chat
    .command('link')
    .description('make a link to the hosted page for a person, valid for a day')
    .argument('<externalId>', 'your own stable id of the person')
    .option('--name <name>', 'what agents call them')
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
