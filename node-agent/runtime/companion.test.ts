import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { Companion } from './companion.ts';
import { DataFolder } from './data-folder.ts';

test('a result that was sent leaves no listener behind', { timeout: 30_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'outrigger-listeners-'));
  const listeners = new Map<AbortSignal, number>();
  const count = (by: number) => function count(this: AbortSignal, ...parameters: Parameters<AbortSignal['addEventListener']>) {
    listeners.set(this, (listeners.get(this) ?? 0) + by);
    (by > 0 ? EventTarget.prototype.addEventListener : EventTarget.prototype.removeEventListener).apply(this, parameters);
  };
  AbortSignal.prototype.addEventListener = count(1) as never;
  AbortSignal.prototype.removeEventListener = count(-1) as never;
  let results = 0;
  const hub = createServer((request, response) => {
    request.resume();
    const url = request.url ?? '';
    results += url.endsWith('/result') ? 1 : 0;
    const commands = results < 100 ? Array.from({ length: 4 }, () => ({ id: randomUUID(), type: 'node.ping', input: {} })) : [];
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(url.endsWith('/result') ? { id: url.split('/').at(-2) } : { commands, withdrawn: [], hub: { pollSeconds: 1, heartbeatSeconds: 300 } }));
  });
  await new Promise<void>((done) => hub.listen(0, '127.0.0.1', done));
  const stop = new AbortController();
  try {
    const identity = { nodeId: randomUUID(), deviceSecret: 'x', hub: `http://127.0.0.1:${(hub.address() as AddressInfo).port}`, pairedAt: '2026-01-01T00:00:00Z' };
    const run = new Companion({ folder: new DataFolder(folder), identity, signal: stop.signal, onEvent: () => undefined }).run();
    await vi.waitUntil(() => results >= 100, { timeout: 20_000 });
    expect(Math.max(...listeners.values())).toBeLessThan(20);
    stop.abort();
    await run;
  } finally {
    stop.abort();
    Reflect.deleteProperty(AbortSignal.prototype, 'addEventListener');
    Reflect.deleteProperty(AbortSignal.prototype, 'removeEventListener');
    hub.closeAllConnections();
    hub.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
