import { expect, test } from 'vitest';
import type { JsonObject } from '../../../shared/json.ts';
import type { Events } from './events.ts';

/** What every adapter of the events must do; run for each backend, between two processes' worth of connections. */
export function eventsConformance(connect: () => Promise<Events>, restart: () => Promise<void>): void {
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
    const subscriptions = Array.from({ length: 10_000 }, (_value, index) => there.subscribe(`node:${index}`, () => {
      woken += 1;
    }));
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
}
