import { pino } from 'pino';
import { expect, test, vi } from 'vitest';
import type { Feeds } from './feeds.ts';
import type { LiveReads } from './reads.ts';
import { VisitorRooms } from './visitor-rooms.ts';

test('closing a page iterates over no other room, and drops the feed only if the workspace has no connected agent', () => {
  const forgotten: string[] = [];
  using rooms = new VisitorRooms({
    reads: {} as LiveReads,
    feeds: () => ({ forget: (id: string) => void forgotten.push(id) }) as unknown as Feeds,
    isOnline: async () => new Set(),
    hasAgents: (tenantId) => tenantId === 'staffed',
    logger: pino({ level: 'silent' }),
  });
  const connection = { isOpen: true, waitingBytes: 0, send: () => undefined, close: () => undefined };
  const enter = (tenantId: string, conversationId: string) => ({
    conversationId,
    subscriber: rooms.enter({ tenantId, conversationId }, connection),
  });
  const subscribers = [enter('staffed', 'a'), enter('staffed', 'b'), enter('empty', 'c'), enter('empty', 'd')];
  const looks = vi.spyOn(Map.prototype, 'values');
  try {
    for (const { conversationId, subscriber } of subscribers) rooms.leave(conversationId, subscriber);
    expect(looks).not.toHaveBeenCalled();
  } finally {
    looks.mockRestore();
  }
  expect(forgotten).toEqual(['c', 'd']);
});
