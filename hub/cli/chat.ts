import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Option } from 'commander';
import type { Command } from 'commander';
import { inboxViews } from '../../shared/contract/chat/agent-shapes.ts';
import type { InboxConversation, InboxMessage, InboxView } from '../../shared/contract/chat/agent-shapes.ts';
import { chat as chatContract } from '../../shared/contract/chat/chat.ts';
import { inbox as inboxContract } from '../../shared/contract/chat/inbox.ts';
import { chatPeople as peopleContract } from '../../shared/contract/chat/people.ts';
import { AppError } from '../../shared/errors.ts';
import { visibleLine, visibleText } from '../../shared/visible-text.ts';
import type { App } from '../app.ts';
import { actor, checked, hubAddress, json, withApp, workspace } from './context.ts';
import type { Common } from './context.ts';
import { print, table } from './terminal.ts';

/** How often what was written is looked for, in milliseconds. */
const lookMs = 500;

interface AsAgent extends Common {
  as?: string;
}

const as = () => new Option('--as <email>', 'as which member; the first admin when left out');

/** The member who acts. @throws AppError `not_found` with the remedy. */
async function agentOf({ identity }: App, { workspace: name, as: email }: AsAgent) {
  const { id: tenantId } = await identity.findWorkspace(name);
  const { data } = await identity.members.list(tenantId, { limit: 100 }, 'admin');
  const member =
    email === undefined
      ? (data.findLast(({ role }) => role === 'admin') ?? data.at(-1))
      : data.find((each) => each.email === email.toLowerCase());
  if (member === undefined)
    throw new AppError('not_found', `${email ?? 'nobody'} is no member of the workspace ${name}`);
  return { tenantId, userId: member.id };
}

const line = (message: InboxMessage) =>
  `${message.createdAt.slice(11, 19)} ${message.private ? 'note by ' : ''}${message.senderType}: ${visibleText(message.content)}${message.attachments
    .map(({ name, bytes }) => ` [${visibleLine(name)}, ${bytes} bytes]`)
    .join('')}`;

const rowOf = (conversation: InboxConversation) => ({
  id: conversation.id,
  name: visibleLine(conversation.name).slice(0, 30),
  status: conversation.snoozedUntil === null ? conversation.status : 'snoozed',
  priority: conversation.priority,
  assigned: conversation.assignedUserId === null ? '-' : conversation.assignedUserId.slice(-6),
  unread: String(conversation.unreadCount),
  last: visibleLine(conversation.lastMessage?.content ?? '').slice(0, 50),
});

/** Aborts when the person or the system ends the command. */
function untilStopped(): AbortSignal & Disposable {
  const stopped = new AbortController();
  const stop = () => stopped.abort();
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const name of signals) process.once(name, stop);
  return Object.assign(stopped.signal, {
    [Symbol.dispose]: () => {
      for (const name of signals) process.off(name, stop);
    },
  });
}

/** What a typed line is to send; null for a command that there is not, which nobody means to say to a visitor. */
function readTyped(text: string): { content: string; private: boolean } | null {
  if (!text.startsWith('/')) return { content: text, private: false };
  if (text.startsWith('//')) return { content: text.slice(1), private: false };
  const note = /^\/note\s+(\S.*)$/s.exec(text)?.[1];
  return note === undefined ? null : { content: note, private: true };
}

/** Prints what is written from now on, in one conversation or in all, and sends what is typed to the one, until it is stopped. */
async function follow(app: App, options: AsAgent, id: string | undefined): Promise<void> {
  const agent = await agentOf(app, options);
  const { inbox } = app.chat;
  using stopped = untilStopped();
  const say = (conversation: Pick<InboxConversation, 'id' | 'name'>, message: InboxMessage) =>
    process.stdout.write(
      options.json === true
        ? `${JSON.stringify(message)}\n`
        : `${id === undefined ? `${conversation.id} ${visibleLine(conversation.name)} ` : ''}${line(message)}\n`,
    );
  const known = new Map<string, number>();
  if (id !== undefined) {
    const { data } = await inbox.messages(agent, id, { limit: 20 });
    for (const message of data) say({ id, name: '' }, message);
    known.set(id, data.at(-1)?.position ?? 0);
  }
  if (id !== undefined && !process.stdin.isTTY)
    process.stderr.write('nothing is read from standard input; send with: chat reply ID TEXT\n');
  const typed = id === undefined || !process.stdin.isTTY ? null : createInterface({ input: process.stdin });
  typed?.on('line', (text) => {
    if (text.trim() === '' || id === undefined) return;
    const wish = readTyped(text);
    if (wish === null) {
      process.stderr.write('not sent: there is only "/note TEXT"; what begins with a slash is sent with two\n');
      return;
    }
    inbox
      .send(agent, id, { ...wish, attachmentIds: [] })
      .catch((error: unknown) => process.stderr.write(`${visibleText(error instanceof Error ? error.message : '')}\n`));
  });
  typed?.once('close', () => process.kill(process.pid, 'SIGINT'));
  let isFirst = true;
  while (!stopped.aborted) {
    const moved =
      id === undefined ? (await inbox.list(agent, { view: 'all', limit: 100 })).data : [await inbox.show(agent, id)];
    for (const conversation of moved.toReversed()) {
      // Of one that nobody knew of, all is new, but for what was there at the beginning.
      const from = known.get(conversation.id) ?? (isFirst ? conversation.lastPosition : 0);
      known.set(conversation.id, from);
      for (
        let at = from;
        at < conversation.lastPosition;
        at = known.get(conversation.id) ?? conversation.lastPosition
      ) {
        const { data } = await inbox.messages(agent, conversation.id, { limit: 100, after: String(at) });
        if (data.length === 0) break;
        for (const message of data) say(conversation, message);
        known.set(conversation.id, (data.at(-1) as InboxMessage).position);
      }
    }
    isFirst = false;
    await sleep(lookMs, undefined, { signal: stopped }).catch(() => undefined);
  }
  typed?.close();
}

/** Conversations on a terminal: listed, followed, answered. */
export function addChatCommands(program: Command): void {
  const chat = program.command('chat').description('conversations of Live Chat');
  const one = (name: string, description: string) =>
    chat
      .command(name)
      .description(description)
      .argument(
        '<id>',
        'of the conversation, as chat list shows it',
        (given) => checked(inboxContract.getInboxConversation.params.pick({ id: true }), { id: given }).id,
      )
      .addOption(workspace())
      .addOption(as())
      .addOption(json());
  const change = (name: string, description: string, status: 'open' | 'pending' | 'resolved' | 'closed') =>
    one(name, description).action(async (id: string, options: AsAgent) => {
      const changed = await withApp(async (app) => app.chat.inbox.update(await agentOf(app, options), id, { status }));
      print(changed, options.json, `${changed.id} is ${changed.status}`);
    });

  chat
    .command('list')
    .description('list conversations, the newest message first')
    .addOption(new Option('--view <view>', 'which').choices(inboxViews).default('open'))
    .addOption(workspace())
    .addOption(as())
    .addOption(json())
    .action(async (options: AsAgent & { view: InboxView }) => {
      const { data } = await withApp(async (app) =>
        app.chat.inbox.list(await agentOf(app, options), { view: options.view, limit: 50 }),
      );
      print(data, options.json, table(data.map(rowOf)));
    });
  one('show', 'show what was written, private notes included').action(async (id: string, options: AsAgent) => {
    const { data } = await withApp(async (app) =>
      app.chat.inbox.messages(await agentOf(app, options), id, { limit: 100 }),
    );
    print(data, options.json, data.length === 0 ? 'nothing was written yet' : data.map(line).join('\n'));
  });
  one('reply', 'reply to a visitor')
    .argument('<text>', 'what to say')
    .option('--note', 'as a private note, which only agents see')
    .action(async (id: string, text: string, options: AsAgent & { note?: boolean }) => {
      const body = checked(inboxContract.sendInboxMessage.body, { content: text, private: options.note === true });
      const sent = await withApp(async (app) => app.chat.inbox.send(await agentOf(app, options), id, body));
      print(sent, options.json, line(sent));
    });
  change('open', 'open a conversation again', 'open');
  change('resolve', 'mark a conversation as resolved; a message of its visitor opens it again', 'resolved');
  change('close', 'close a conversation for good; its visitor is asked how it was', 'closed');
  one('assign', 'assign a conversation')
    .argument('<email>', 'of a member; nobody takes it back')
    .action(async (id: string, email: string, options: AsAgent) => {
      const changed = await withApp(async (app) => {
        const userId = email === 'nobody' ? null : (await agentOf(app, { ...options, as: email })).userId;
        return app.chat.inbox.assign(await agentOf(app, options), id, { userId });
      });
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
    .addOption(json())
    .action((id: string | undefined, options: AsAgent) => withApp((app) => follow(app, options, id)));
  chat
    .command('site')
    .description('print the lines that put the chat on a site, and allow sites to show it')
    .option('--allow <origin...>', 'sites that may show it besides, such as https://www.example.com')
    .option('--anonymous', 'let visitors without a token begin a conversation')
    .addOption(workspace())
    .addOption(json())
    .action(async (options: Common & { allow?: string[]; anonymous?: true }) => {
      const site = await withApp(async ({ identity, chat: { settings } }, config) => {
        const { id } = await identity.findWorkspace(options.workspace);
        const address = hubAddress(config);
        const now = await settings.show(id, address);
        if (options.allow === undefined && options.anonymous === undefined) return now;
        const patch = checked(peopleContract.putChatSettings.body, {
          allowedOrigins: [...new Set([...now.allowedOrigins, ...(options.allow ?? [])])],
          ...(options.anonymous === undefined ? {} : { allowAnonymous: true }),
        });
        return settings.change(id, patch, actor, address);
      });
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
    .action(async (externalId: string, options: Common & { name?: string }) => {
      const body = checked(chatContract.createChatSession.body, { externalId, displayName: options.name });
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
