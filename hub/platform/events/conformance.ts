import { pino } from 'pino';
import { expect, test } from 'vitest';
import type { JsonObject } from '../../../shared/json.ts';
import { createLogger } from '../observability/logger.ts';
import type { Logger } from '../observability/logger.ts';
import { createSecrets } from '../secrets/secrets.ts';
import { packEvent } from './events.ts';
import type { Events, EventsOptions } from './events.ts';

export interface EventsBackend {
  connect: (logger: Logger, options?: EventsOptions) => Promise<Events>;
  /** Ends the connections, as a crash of the store would. */
  restart: () => Promise<void>;
  /** Sends a text on the channel of the events, as anybody who may use the store can. */
  send: (text: string) => Promise<void>;
  /** What goes over that channel from now on, until the test ends. */
  captureChannel: () => Promise<string[]>;
  /** Lets the listening connections fall silent without ending; answers how to let them go on. */
  suspend: () => Promise<() => void>;
  /** The longest text that the channel carries. */
  maxMessageLength: number;
}

/** What every adapter of the events must do; run for each backend, between two processes' worth of connections. */
export function eventsConformance({
  connect: connectLogged,
  restart,
  send,
  captureChannel,
  suspend,
  maxMessageLength,
}: EventsBackend): void {
  const connect = () => connectLogged(pino({ level: 'silent' }));
  test('an event reaches every listener of its topic once, here and in other processes, and nobody else', async () => {
    await using here = await connect();
    await using there = await connect();
    const heard: string[] = [];
    using _a = here.subscribe('topic', (payload) => heard.push(`here ${String(payload['n'])}`));
    using _b = there.subscribe('topic', (payload) => heard.push(`there ${String(payload['n'])}`));
    using _c = there.subscribe('other', () => heard.push('other'));
    await here.publish('topic', { n: 1 });
    await expect.poll(() => heard.toSorted()).toEqual(['here 1', 'there 1']);
    await here.publish('topic', { n: 2 });
    await there.publish('topic', { n: 3 });
    await expect.poll(() => heard.length).toBe(6);
    expect(heard.filter((line) => line === 'here 2')).toHaveLength(1);
  });

  test('a listener of a family hears of each of its topics, here and from other processes, until it is disposed', async () => {
    await using here = await connect();
    await using there = await connect();
    const heard: string[] = [];
    const family = here.subscribeFamily('node:', (rest, payload) => heard.push(`${rest} ${String(payload['n'])}`));
    await here.publish('node:a', { n: 1 });
    await there.publish('node:b:c', { n: 2 });
    await there.publish('nodes:a', { n: 3 });
    await there.publish('node', { n: 4 });
    await there.publish('node:a', { n: 5 });
    await expect.poll(() => heard).toEqual(['a 1', 'b:c 2', 'a 5']);
    family[Symbol.dispose]();
    await here.publish('node:a', { n: 6 });
    expect(heard).toHaveLength(3);
  });

  test('a listener that is disposed hears no more', async () => {
    await using events = await connect();
    const heard: JsonObject[] = [];
    const subscription = events.subscribe('topic', (payload) => heard.push(payload));
    await events.publish('topic', {});
    subscription[Symbol.dispose]();
    await events.publish('topic', {});
    expect(heard).toHaveLength(1);
  });

  test('ten thousand topics are cheap, and a payload too large to carry still wakes', async () => {
    await using here = await connect();
    await using there = await connect();
    let woken = 0;
    const subscriptions = Array.from({ length: 10_000 }, (_value, index) =>
      there.subscribe(`node:${index}`, () => {
        woken += 1;
      }),
    );
    await here.publish('node:77', { text: 'x'.repeat(20_000) });
    await expect.poll(() => woken).toBe(1);
    for (const subscription of subscriptions) subscription[Symbol.dispose]();
  });

  test('a lost connection comes back by itself and tells who waits to look again', async () => {
    await using here = await connect();
    await using there = await connect();
    let again = 0;
    const heard: string[] = [];
    using _reconnect = there.onReconnect(() => {
      again += 1;
    });
    using _topic = there.subscribe('topic', () => heard.push('x'));
    await restart();
    await here.publish('topic', {});
    await expect.poll(() => again, { timeout: 20_000 }).toBeGreaterThan(0);
    await expect
      .poll(
        async () => {
          await here.publish('topic', {});
          return heard.length;
        },
        { timeout: 20_000, interval: 200 },
      )
      .toBeGreaterThan(0);
  });

  test('a message that is no event takes nobody down, reaches nobody, and is logged once and not for each', async () => {
    const lines: string[] = [];
    const logger = createLogger(
      { level: 'info', format: 'json', color: false },
      { write: (line: string) => void lines.push(line) },
    );
    await using events = await connectLogged(logger);
    await using other = await connect();
    const heard: JsonObject[] = [];
    using _topic = events.subscribe('topic', (payload) => heard.push(payload));
    using _proto = events.subscribe('toString', (payload) => heard.push(payload));
    const from = '01890a5d-ac96-774b-bcce-b302099a8057';
    const hostile = [
      'hello',
      '',
      'null',
      '7',
      '[]',
      '{}',
      '"topic"',
      '{"topic":"topic"',
      '\u0001\u007f\uFFFD\u202E',
      '{"__proto__":{"topic":"topic"}}',
      JSON.stringify({ from, topic: 7, payload: {} }),
      JSON.stringify({ from, topic: 'topic', payload: null }),
      JSON.stringify({ from, topic: 'topic', payload: [1] }),
      JSON.stringify({ from: 'me', topic: 'topic', payload: {} }),
      JSON.stringify({ topic: 'topic', payload: {} }),
      JSON.stringify({ from, topic: 'x'.repeat(300), payload: {} }),
      '['.repeat(7_000),
      `{"from":"${from}","topic":"topic","payload":${'{"a":'.repeat(1_000)}1${'}'.repeat(1_000)}`,
      'x'.repeat(maxMessageLength),
    ];
    for (const text of hostile) await send(text);
    await other.publish('topic', { n: 1 });
    await expect.poll(() => heard).toEqual([{ n: 1 }]);
    expect(lines).toHaveLength(1);
    expect(lines[0]).not.toContain('hello');
  });

  test('events are readable and forgeable only with the key of the installation', async () => {
    await using here = await connect();
    await using there = await connect();
    const channel = await captureChannel();
    const heard: JsonObject[] = [];
    using _topic = here.subscribe('topic', (payload) => heard.push(payload));
    const from = '01890a5d-ac96-774b-bcce-b302099a8057';
    const forged = [
      JSON.stringify({ from, topic: 'topic', payload: { text: 'forged' } }),
      packEvent(createSecrets(Buffer.alloc(32)), from, 'topic', { text: 'forged' }),
    ];
    for (const text of forged) await send(text);
    await there.publish('topic', { text: 'confidential' });
    await expect.poll(() => heard).toEqual([{ text: 'confidential' }]);
    // Presence messages of the two connections can arrive before and between the forged texts.
    const others = () => channel.filter((text) => !forged.includes(text));
    await expect.poll(() => channel.length - others().length).toBe(2);
    await expect.poll(() => others().length).toBeGreaterThan(0);
    expect(others().join()).not.toMatch(/topic|confidential/);
  });

  test('a listener that throws keeps no event from the others', async () => {
    await using here = await connect();
    await using there = await connect();
    const heard: string[] = [];
    const fail = () => {
      throw new Error('a fault of a listener');
    };
    using _first = there.subscribe('topic', fail);
    using _second = there.subscribe('topic', () => heard.push('there'));
    using _own = here.subscribe('topic', fail);
    using _failing = there.onReconnect(fail);
    using _again = there.onReconnect(() => heard.push('again'));
    await here.publish('topic', {});
    await expect.poll(() => heard).toContain('there');
    await restart();
    await expect.poll(() => heard).toContain('again');
  });

  test('a connection that falls silent without ending is replaced, and who waits is told to look again', async () => {
    const lines: string[] = [];
    const logger = createLogger(
      { level: 'info', format: 'json', color: false },
      { write: (line: string) => void lines.push(line) },
    );
    await using events = await connectLogged(logger, { pingMs: 50, pingDeadlineMs: 300 });
    let again = 0;
    using _reconnect = events.onReconnect(() => {
      again += 1;
    });
    const goOn = await suspend();
    try {
      await expect.poll(() => lines.join('')).toContain('the connection for events was lost');
      // It hangs nobody who tells of something meanwhile.
      await events.publish('topic', {});
    } finally {
      goOn();
    }
    await expect.poll(() => again).toBeGreaterThan(0);
    await using other = await connect();
    const heard: JsonObject[] = [];
    using _topic = events.subscribe('topic', (payload) => heard.push(payload));
    await other.publish('topic', { n: 1 });
    await expect.poll(() => heard.length).toBeGreaterThan(0);
  });
}
