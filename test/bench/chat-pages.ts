import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import { agentProtocol, bearerProtocolPrefix, visitorProtocol } from '../../shared/contract/chat/live.ts';
import { unawaited } from '../fixtures/unawaited.ts';

/** Orders of the benchmark to the process that runs all pages of visitors and agents. */
export type PagesOrder =
  | { kind: 'visitors'; url: string; tokens: string[] }
  | { kind: 'agents'; url: string; tenantId: string; token: string; count: number }
  /** Posts to one conversation after another. Each post waits until the page, or all agents, received the message. */
  | { kind: 'post'; url: string; key: string; conversations: string[]; posts: number; heardBy: number }
  /** Sends frames to an echo server. */
  | { kind: 'echo'; sockets: number; posts: number }
  /** Cuts connections and waits until all pages have caught up. */
  | { kind: 'cut'; url: string; count: number }
  | { kind: 'close' };
/**
 * Number of open pages, and times in milliseconds: until each post was received and answered, or until all caught up.
 */
export interface PagesReport {
  open: number;
  heard: number[];
  answered: number[];
}

interface Page {
  socket: WebSocket;
  token: string;
}

const pages: Page[] = [];
const maxConcurrentPosts = 100;
/** Per message text: how many pages have not received it yet, and the callback for the last one. */
const waiting = new Map<string, { left: number; done: () => void }>();

function connect(url: string, protocol: string, token: string, hello: object): Promise<WebSocket> {
  const socket = new WebSocket(url.replace(/^http/, 'ws'), [protocol, `${bearerProtocolPrefix}${token}`], {
    perMessageDeflate: false,
  });
  return new Promise((done, fail) => {
    socket.on('error', fail);
    socket.on('open', () => socket.send(JSON.stringify(hello)));
    socket.on('message', (data: Buffer) => {
      const frame = JSON.parse(data.toString()) as { type: string; message?: { content: string } };
      if (frame.type === 'sync') done(socket);
      if (frame.type !== 'message' || frame.message === undefined) return;
      const found = waiting.get(frame.message.content);
      if (found !== undefined && (found.left -= 1) === 0) found.done();
    });
  });
}

async function openAll(count: number, open: (at: number) => Promise<void>): Promise<void> {
  for (let from = 0; from < count; from += maxConcurrentPosts)
    await Promise.all(Array.from({ length: Math.min(maxConcurrentPosts, count - from) }, (_, n) => open(from + n)));
}

async function post(order: Extract<PagesOrder, { kind: 'post' }>): Promise<Pick<PagesReport, 'heard' | 'answered'>> {
  const heard: number[] = [];
  const answered: number[] = [];
  for (let n = 0; n < order.posts; n += 1) {
    const content = `message ${n} of ${process.hrtime.bigint()}`;
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.set(content, { left: order.heardBy, done: resolve });
    const startedAt = performance.now();
    const id = order.conversations[n % order.conversations.length] as string;
    const answer = fetch(`${order.url}/v1/chat/conversations/${id}/messages`, {
      method: 'POST',
      headers: { 'x-api-key': order.key, 'content-type': 'application/json' },
      body: JSON.stringify({ content }),
    }).then(async (response) => {
      await response.text();
      answered.push(performance.now() - startedAt);
      if (!response.ok) throw new Error(`a message got the status ${response.status}`);
    });
    await promise;
    heard.push(performance.now() - startedAt);
    await answer;
    waiting.delete(content);
  }
  return { heard, answered };
}

async function echo(sockets: number, posts: number): Promise<number[]> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
  server.on('connection', (socket) => socket.on('message', (data) => socket.send(data)));
  await once(server, 'listening');
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const open = await Promise.all(
    Array.from(
      { length: sockets },
      () =>
        new Promise<WebSocket>((done) => {
          const socket = new WebSocket(url, { perMessageDeflate: false });
          socket.on('open', () => done(socket));
        }),
    ),
  );
  const took: number[] = [];
  for (let n = 0; n < posts; n += 1) {
    const socket = open[n % sockets] as WebSocket;
    const startedAt = performance.now();
    await new Promise((done) => {
      socket.once('message', done);
      socket.send('x'.repeat(300));
    });
    took.push(performance.now() - startedAt);
  }
  for (const socket of open) socket.terminate();
  server.close();
  return took;
}

async function cut(url: string, count: number): Promise<number[]> {
  const lost = pages.slice(0, count);
  for (const page of lost) page.socket.terminate();
  const startedAt = performance.now();
  await Promise.all(
    lost.map(async (page) => {
      page.socket = await connect(`${url}/widget/v1/live`, visitorProtocol, page.token, { type: 'hello', after: 0 });
    }),
  );
  return [performance.now() - startedAt];
}

async function onOrder(order: PagesOrder): Promise<void> {
  const report: PagesReport = { open: 0, heard: [], answered: [] };
  if (order.kind === 'visitors')
    await openAll(order.tokens.length, async (at) => {
      const token = order.tokens[at] as string;
      const hello = { type: 'hello', after: 0 };
      pages.push({ token, socket: await connect(`${order.url}/widget/v1/live`, visitorProtocol, token, hello) });
    });
  else if (order.kind === 'agents')
    await openAll(order.count, async () => {
      const url = `${order.url}/tenants/${order.tenantId}/chat/live`;
      pages.push({
        token: order.token,
        socket: await connect(url, agentProtocol, order.token, { type: 'hello' }),
      });
    });
  else if (order.kind === 'post') Object.assign(report, await post(order));
  else if (order.kind === 'echo') report.heard = await echo(order.sockets, order.posts);
  else if (order.kind === 'cut') report.heard = await cut(order.url, order.count);
  else for (const { socket } of pages.splice(0)) socket.terminate();
  process.send?.({ ...report, open: pages.length } satisfies PagesReport);
}
process.on('message', (order: PagesOrder) => unawaited(onOrder(order)));
process.on('disconnect', () => process.exit());
