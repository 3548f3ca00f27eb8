import { pino } from 'pino';
import { expect, test, vi } from 'vitest';
import type { Feeds } from './feeds.ts';
import type { LiveReads } from './reads.ts';
import { VisitorRooms } from './visitor-rooms.ts';

test('a page that closes looks at no other, and is forgotten where no agent follows its conversation', () => {
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
    guest: rooms.enter({ tenantId, conversationId }, connection),
  });
  const guests = [enter('staffed', 'a'), enter('staffed', 'b'), enter('empty', 'c'), enter('empty', 'd')];
  const looks = vi.spyOn(Map.prototype, 'values');
  try {
    for (const { conversationId, guest } of guests) rooms.leave(conversationId, guest);
    expect(looks).not.toHaveBeenCalled();
  } finally {
    looks.mockRestore();
  }
  expect(forgotten).toEqual(['c', 'd']);
});
