import { createInterface } from 'node:readline';
import type { Interface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { InboxConversation, InboxMessage } from '../../shared/contract/chat/agent-shapes.ts';
import { AppError, errorCodes } from '../../shared/errors.ts';
import { visibleText } from '../../shared/visible-text.ts';
import { withInbox } from './chat-inbox.ts';
import type { AgentOptions, Inbox } from './chat-inbox.ts';
import { messageLines } from './chat-lines.ts';
import { isTemporaryError } from './remote-hub.ts';

/** Poll interval for new messages on a local hub, in milliseconds. */
const pollIntervalMs = 500;
/** Poll interval on a remote hub, in milliseconds. */
const remotePollIntervalMs = 2_000;
/** Delays between attempts to reach an unavailable hub double from the first to the second value, in milliseconds. */
const minRetryMs = 500;
const maxRetryMs = 10_000;

/**
 * Parses a typed line to the message to send. Returns null for an unknown command, so that a mistyped command is not
 * sent to the visitor.
 */
function parseInput(text: string): { content: string; private: boolean } | null {
  if (!text.startsWith('/')) return { content: text, private: false };
  if (text.startsWith('//')) return { content: text.slice(1), private: false };
  const note = /^\/note\s+(\S.*)$/s.exec(text)?.[1];
  return note === undefined ? null : { content: note, private: true };
}

const warn = (message: string) => process.stderr.write(`${visibleText(message)}\n`);

/** Prints new messages of one or all conversations, and sends typed lines to the one. */
class Follower {
  readonly #options: AgentOptions;
  readonly #id: string | undefined;
  /** Last printed position by conversation. */
  readonly #printedPositions = new Map<string, number>();
  #isFirst = true;
  #send: ((message: { content: string; private: boolean }) => Promise<unknown>) | null = null;

  constructor(options: AgentOptions, id: string | undefined) {
    this.#options = options;
    this.#id = id;
  }

  /**
   * Prints new messages until the signal aborts or the hub is unavailable. @param onReached is called after each
   * successful poll.
   */
  async run(inbox: Inbox, signal: AbortSignal, onReached: () => void): Promise<void> {
    const id = this.#id;
    if (id !== undefined && this.#isFirst) {
      const data = await inbox.messages(id, { limit: 20 });
      for (const message of data) this.#print({ id, name: '' }, message);
      this.#printedPositions.set(id, data.at(-1)?.position ?? 0);
    }
    if (id !== undefined) this.#send = (message) => inbox.send(id, message);
    try {
      while (!signal.aborted) {
        const conversations = id === undefined ? await inbox.list('all', 100) : [await inbox.show(id)];
        for (const conversation of conversations.toReversed()) await this.#catchUp(inbox, conversation);
        this.#isFirst = false;
        onReached();
        await sleep(this.#options.hub === undefined ? pollIntervalMs : remotePollIntervalMs, undefined, {
          signal,
        }).catch(() => undefined);
      }
    } finally {
      this.#send = null;
    }
  }

  handleInput(text: string): void {
    if (text.trim() === '') return;
    const message = parseInput(text);
    if (message === null) {
      warn('not sent: the only command is "/note TEXT"; to send text that begins with a slash, type two slashes');
      return;
    }
    if (this.#send === null) {
      warn('not sent: the hub is unavailable');
      return;
    }
    this.#send(message).catch((error: unknown) => warn(`not sent: ${error instanceof Error ? error.message : ''}`));
  }

  async #catchUp(inbox: Inbox, conversation: InboxConversation): Promise<void> {
    // All messages of a new conversation are printed, except those from before the start.
    const from = this.#printedPositions.get(conversation.id) ?? (this.#isFirst ? conversation.lastPosition : 0);
    this.#printedPositions.set(conversation.id, from);
    for (let at = from; at < conversation.lastPosition;) {
      const data = await inbox.messages(conversation.id, { limit: 100, after: String(at) });
      const last = data.at(-1);
      if (last === undefined) break;
      for (const message of data) this.#print(conversation, message);
      at = last.position;
      this.#printedPositions.set(conversation.id, at);
    }
  }

  #print(conversation: Pick<InboxConversation, 'id' | 'name'>, message: InboxMessage): void {
    const text =
      this.#options.json === true
        ? JSON.stringify(message)
        : messageLines(message, this.#id === undefined ? conversation : undefined);
    process.stdout.write(`${text}\n`);
  }
}

/** Aborts when the user or the system ends the command. */
function stopOnSignal(): AbortController & Disposable {
  const stopped = new AbortController();
  const stop = () => stopped.abort();
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const name of signals) process.once(name, stop);
  return Object.assign(stopped, {
    [Symbol.dispose]: () => {
      for (const name of signals) process.off(name, stop);
    },
  });
}

/** Whether a retry can succeed: the hub reported a temporary error, or a connection failed. */
const isTemporary = (error: unknown): boolean =>
  isTemporaryError(error) ||
  (error instanceof AppError
    ? errorCodes[error.code].retryable
    : error instanceof Error && typeof (error as NodeJS.ErrnoException).code === 'string');

/** Prints new messages of one or all conversations, and sends typed lines to the one, until stopped. */
export async function follow(options: AgentOptions, id: string | undefined): Promise<void> {
  using stopped = stopOnSignal();
  const { signal } = stopped;
  const follower = new Follower(options, id);
  const isRead = id !== undefined && process.stdin.isTTY;
  if (id !== undefined && !isRead) warn('standard input is not read; send with: chat reply ID TEXT');
  let typed: Interface | null = null;
  const read = () => {
    const lines = createInterface({ input: process.stdin });
    lines.on('line', (text) => follower.handleInput(text));
    lines.once('close', () => stopped.abort());
    return lines;
  };
  let state = 'new' as 'new' | 'connected' | 'unreachable';
  let waitMs = minRetryMs;
  const reached = () => {
    if (state === 'unreachable') warn('The hub is available again.');
    state = 'connected';
    waitMs = minRetryMs;
    // Lines that were typed earlier are buffered by the terminal.
    if (isRead) typed ??= read();
  };
  try {
    while (!signal.aborted) {
      try {
        await withInbox(options, (inbox) => follower.run(inbox, signal, reached), { requiresRunningHub: true });
      } catch (error) {
        if (signal.aborted) break;
        if (state === 'new' || !isTemporary(error)) throw error;
        if (state === 'connected') warn('The hub is unavailable; reconnecting. Press Ctrl-C to stop.');
        state = 'unreachable';
        await sleep(waitMs, undefined, { signal }).catch(() => undefined);
        waitMs = Math.min(waitMs * 2, maxRetryMs);
      }
    }
  } finally {
    (typed as Interface | null)?.close();
  }
}
