import { expect, test } from 'vitest';
import { Store } from './store.ts';

test('a store notifies its listeners once for all changes of one task, and no listener after it unsubscribed', async () => {
  const store = new Store({ count: 0, name: 'a' });
  const seen: string[] = [];
  const note = (who: string) => () => seen.push(`${who} ${store.state.count}${store.state.name}`);
  store.subscribe(note('first'));
  const unsubscribe = store.subscribe(note('second'));
  store.set({ count: 1 });
  store.set({ name: 'b' });
  expect([store.state, seen]).toEqual([{ count: 1, name: 'b' }, []]);
  await Promise.resolve();
  unsubscribe();
  store.set({ count: 2 });
  await Promise.resolve();
  expect(seen).toEqual(['first 1b', 'second 1b', 'first 2b']);
});
