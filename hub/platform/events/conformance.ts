import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import type { JsonObject } from '../../../shared/json.ts';
import { createLogger } from '../observability/logger.ts';
import type { Logger } from '../observability/logger.ts';
import { createSecrets } from '../secrets/secrets.ts';
import { packEvent } from './events.ts';
import type { Events, EventsOptions } from './events.ts';

const pingDeadlineMs = 2_000;

export interface EventsBackend {
  connect: (logger: Logger, options?: EventsOptions) => Promise<Events>;
  /** Ends the connections, as a crash of the store would. */
  restart: () => Promise<void>;
  /** Sends a text on the channel of the events, as any user of the store can. */
  send: (text: string) => Promise<void>;
  /** Collects the messages on the channel until the test ends. */
  captureChannel: () => Promise<string[]>;
  /** Suspends the listening connections without closing them. Returns a function that resumes them. */
  suspend: () => Promise<() => void>;
  /** Length of the longest message that the channel carries. */
  maxMessageLength: number;
}

/** Tests that every adapter of `Events` must pass. Two connections represent two processes. */
export function eventsConformance({
  connect: connectLogged,
  restart,
  send,
  captureChannel,
  suspend,
  maxMessageLength,
}: EventsBackend): void {
  // Without a response, a process sends its events for this time. On a busy machine, another process connects slowly.
  const connect = () => connectLogged(pino({ level: 'silent' }), { answerMs: 600_000 });
  test('an event reaches every listener of its topic once, in this and in other processes, and no other listener', async () => {
    await using here = await connect();
    await using there = await connect();
    const received: string[] = [];
    using _a = here.subscribe('topic', (payload) => received.push(`here ${String(payload['n'])}`));
    using _b = there.subscribe('topic', (payload) => received.push(`there ${String(payload['n'])}`));
    using _c = there.subscribe('other', () => received.push('other'));
    here.publish('topic', { n: 1 });
    await expect.poll(() => received.toSorted()).toEqual(['here 1', 'there 1']);
    here.publish('topic', { n: 2 });
    there.publish('topic', { n: 3 });
    await expect.poll(() => received.length).toBe(6);
    expect(received.filter((event) => event === 'here 2')).toHaveLength(1);
  });

  test('a listener of a family receives the events of all its topics, from this and other processes, until it is disposed', async () => {
    await using here = await connect();
    await using there = await connect();
    const received: string[] = [];
    const family = here.subscribeFamily('node:', (rest, payload) => received.push(`${rest} ${String(payload['n'])}`));
    here.publish('node:a', { n: 1 });
    there.publish('node:b:c', { n: 2 });
    there.publish('nodes:a', { n: 3 });
    there.publish('node', { n: 4 });
    there.publish('node:a', { n: 5 });
    await expect.poll(() => received).toEqual(['a 1', 'b:c 2', 'a 5']);
    family[Symbol.dispose]();
    here.publish('node:a', { n: 6 });
    expect(received).toHaveLength(3);
  });

  test('a disposed listener receives no more events', async () => {
    await using events = await connect();
    const received: JsonObject[] = [];
    const subscription = events.subscribe('topic', (payload) => received.push(payload));
    events.publish('topic', {});
    subscription[Symbol.dispose]();
    events.publish('topic', {});
    expect(received).toHaveLength(1);
  });

  test('an event whose payload is too large wakes its listener, also among ten thousand topics', async () => {
    await using here = await connect();
    await using there = await connect();
    let woken = 0;
    const subscriptions = Array.from({ length: 10_000 }, (_value, index) =>
      there.subscribe(`node:${index}`, () => {
        woken += 1;
      }),
    );
    here.publish('node:77', { text: 'x'.repeat(20_000) });
    await expect.poll(() => woken).toBe(1);
    for (const subscription of subscriptions) subscription[Symbol.dispose]();
  });

  test('a lost connection is restored, and the reconnect listeners are called', async () => {
    await using here = await connect();
    await using there = await connect();
    let reconnects = 0;
    const received: string[] = [];
    using _reconnect = there.onReconnect(() => {
      reconnects += 1;
    });
    using _topic = there.subscribe('topic', () => received.push('x'));
    await restart();
    here.publish('topic', {});
    await expect.poll(() => reconnects).toBeGreaterThan(0);
    await expect
      .poll(async () => {
        here.publish('topic', {});
        return received.length;
      })
      .toBeGreaterThan(0);
  });

  test('invalid messages stop no process, reach no listener, and are logged once', async () => {
    const lines: string[] = [];
    const logger = createLogger(
      { level: 'info', format: 'json', color: false },
      { write: (line: string) => void lines.push(line) },
    );
    await using events = await connectLogged(logger);
    await using other = await connect();
    const received: JsonObject[] = [];
    using _topic = events.subscribe('topic', (payload) => received.push(payload));
    using _proto = events.subscribe('toString', (payload) => received.push(payload));
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
    other.publish('topic', { n: 1 });
    await expect.poll(() => received).toEqual([{ n: 1 }]);
    expect(lines.filter((line) => line.includes('channel of the events'))).toHaveLength(1);
    expect(lines.join('')).not.toContain('hello');
  });

  test('events are readable and forgeable only with the key of the installation', async () => {
    await using here = await connect();
    await using there = await connect();
    const channel = await captureChannel();
    const received: JsonObject[] = [];
    using _topic = here.subscribe('topic', (payload) => received.push(payload));
    const from = '01890a5d-ac96-774b-bcce-b302099a8057';
    const forged = [
      JSON.stringify({ from, topic: 'topic', payload: { text: 'forged' } }),
      packEvent(createSecrets(Buffer.alloc(32)), from, 'topic', { text: 'forged' }),
    ];
    for (const text of forged) await send(text);
    there.publish('topic', { text: 'confidential' });
    await expect.poll(() => received).toEqual([{ text: 'confidential' }]);
    // Presence messages of the two connections can arrive before and between the forged texts.
    const others = () => channel.filter((text) => !forged.includes(text));
    await expect.poll(() => channel.length - others().length).toBe(2);
    await expect.poll(() => others().length).toBeGreaterThan(0);
    expect(others().join()).not.toMatch(/topic|confidential/);
  });

  test('the other listeners receive an event when one listener throws', async () => {
    await using here = await connect();
    await using there = await connect();
    const received: string[] = [];
    const fail = () => {
      throw new Error('an error of a listener');
    };
    using _first = there.subscribe('topic', fail);
    using _second = there.subscribe('topic', () => received.push('there'));
    using _own = here.subscribe('topic', fail);
    using _failing = there.onReconnect(fail);
    using _again = there.onReconnect(() => received.push('reconnected'));
    here.publish('topic', {});
    await expect.poll(() => received).toContain('there');
    await restart();
    await expect.poll(() => received).toContain('reconnected');
  });

  test('an open connection that does not respond is replaced, and the reconnect listeners are called', async () => {
    const lines: string[] = [];
    const logger = createLogger(
      { level: 'info', format: 'json', color: false },
      { write: (line: string) => void lines.push(line) },
    );
    await using events = await connectLogged(logger, { pingMs: 50, pingDeadlineMs });
    let reconnects = 0;
    using _reconnect = events.onReconnect(() => {
      reconnects += 1;
    });
    const resume = await suspend();
    try {
      await expect.poll(() => lines.join('')).toContain('the connection for events was lost');
      // A second connection can have been pinged a moment later. Its loss is not logged, because it has the same cause.
      await delay(pingDeadlineMs);
      // Publishing does not block during this time.
      events.publish('topic', {});
    } finally {
      resume();
    }
    await expect.poll(() => reconnects).toBeGreaterThan(0);
    await using other = await connect();
    const received: JsonObject[] = [];
    using _topic = events.subscribe('topic', (payload) => received.push(payload));
    // A stall of this process counts as another lost connection, which can lose an event.
    await expect
      .poll(async () => {
        other.publish('topic', { n: 1 });
        return received.length;
      })
      .toBeGreaterThan(0);
  });
}
