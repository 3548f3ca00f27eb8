import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createClient } from '../fixtures/contract-client.ts';
import type { Fetch } from '../fixtures/contract-client.ts';
import { beginVisitors, makeConversations, openVisitor } from '../fixtures/live-chat.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import { cli, startHubProcess } from '../fixtures/processes.ts';
import { unawaited } from '../fixtures/unawaited.ts';
import { until } from '../fixtures/until.ts';

const visitors = 1_000;
const rounds = 3;

/** The page of a visitor. It reconnects after each lost connection, to any hub that responds. */
class Page {
  readonly seqs: number[] = [];
  readonly texts: string[] = [];
  readonly #urls: () => string[];
  readonly #token: string;
  #drop: () => void = () => undefined;
  #isOver = false;

  constructor(urls: () => string[], token: string) {
    this.#urls = urls;
    this.#token = token;
  }

  async live(): Promise<void> {
    while (!this.#isOver) {
      const urls = this.#urls();
      const url = urls[Math.floor(Math.random() * urls.length)] as string;
      try {
        const page = await openVisitor(url, this.#token, null);
        this.#drop = () => page.socket.terminate();
        const closed = new Promise((done) => page.socket.once('close', done));
        page.socket.on('message', (data: Buffer) => {
          const frame = JSON.parse(data.toString()) as { type: string; message?: { seq: number; content: string } };
          if (frame.type !== 'message' || frame.message === undefined) return;
          this.seqs.push(frame.message.seq);
          this.texts.push(frame.message.content);
        });
        page.socket.on('error', () => undefined);
        page.send({ type: 'hello', after: this.seqs.at(-1) ?? 0 });
        await closed;
      } catch {
        // The hub is down or overloaded at this moment.
      }
      await delay(Math.random() * 300);
    }
  }

  cut(): void {
    this.#drop();
  }

  end(): void {
    this.#isOver = true;
    this.#drop();
  }
}

test('every visitor gets every message once and in order, even if all connections are cut, notifications are lost and a hub is killed', async () => {
  await using database = await acquireDatabase();
  const homes = await Promise.all(['a', 'b'].map(() => mkdtemp(join(tmpdir(), 'outrigger-chat-'))));
  onTestFinished(async () => {
    for (const home of homes) await rm(home, { recursive: true, force: true, maxRetries: 5 });
  });
  const envOf = (at: number) => ({
    OUTRIGGER_HOME: homes[at] as string,
    PORT: '0',
    DATABASE_URL: database.url,
    SECRET_KEY: 'ab'.repeat(32),
    RATE_LIMIT_PER_MINUTE: '1000000',
  });
  let killedHub = await startHubProcess(envOf(0));
  const survivingHub = await startHubProcess(envOf(1));
  const key = await cli(envOf(0), 'token', 'create', '--product', 'chat');
  const { tenantId } = await createClient({
    baseUrl: survivingHub.url,
    fetch: fetch as unknown as Fetch,
    token: key,
  }).call('readToken', {});
  const conversations = await makeConversations(database, tenantId, visitors);
  const tokens = await beginVisitors(database, tenantId, conversations);
  const urls = () => [killedHub.url, survivingHub.url];
  const pages = tokens.map((token) => new Page(urls, token));
  onTestFinished(() => pages.forEach((page) => page.end()));
  for (const page of pages) unawaited(page.live());

  // A repeated request with the same client id creates no second message.
  const sendMessage = async (id: string, content: string) => {
    for (let tries = 0; ; tries += 1) {
      const api = createClient({
        baseUrl: urls()[tries % 2] as string,
        fetch: fetch as unknown as Fetch,
        token: key,
      });
      try {
        await api.call('sendChatMessage', { params: { id }, body: { content, clientId: content } });
        return;
      } catch (error) {
        if (tries > 200) throw error;
        await delay(100);
      }
    }
  };
  let written = 0;
  const write = async (round: number) => {
    const left = [...conversations];
    const writer = async () => {
      for (let id = left.pop(); id !== undefined; id = left.pop()) {
        await sendMessage(id, `message ${round}`);
        written += 1;
      }
    };
    await Promise.all(Array.from({ length: 8 }, writer));
  };
  const reached = (count: number) =>
    until(
      () => written >= count,
      () => `only ${written} messages were written`,
      120_000,
    );

  const writing = (async () => {
    for (let round = 1; round <= rounds; round += 1) await write(round);
  })();
  await reached(visitors / 2);
  for (const page of pages) page.cut();
  await reached(visitors);
  await database.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'outrigger-events' AND datname = current_database()",
  );
  await reached(visitors * 1.5);
  await killedHub.kill();
  await reached(visitors * 2);
  killedHub = await startHubProcess(envOf(0));
  await writing;
  const texts = Array.from({ length: rounds }, (_, n) => `message ${n + 1}`);
  await until(
    () => pages.every((page) => page.seqs.length >= rounds),
    () => `${pages.filter((page) => page.seqs.length < rounds).length} visitors miss messages`,
  );
  // Leaves time for duplicates to arrive.
  await delay(1_000);
  for (const page of pages) {
    expect(page.seqs).toEqual([1, 2, 3]);
    expect(page.texts).toEqual(texts);
  }
  for (const page of pages) page.end();
  await Promise.all([killedHub.stop(), survivingHub.stop()]);
});
