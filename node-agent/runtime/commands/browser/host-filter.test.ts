import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { localSettings } from '../../settings.ts';
import { HostFilter } from './host-filter.ts';
import { navigationProblem } from './navigation-policy.ts';

test.each([
  ['Bücher.example', 'http://xn--bcher-kva.example/'],
  ['*.bücher.example', 'https://a.BÜCHER.example./x'],
  ['[::1]', 'http://[::1]:8080/'],
  ['::1', 'http://[0:0:0:0:0:0:0:1]/'],
  ['127.1', 'http://127.0.0.1/'],
  ['Example.ORG.', 'https://example.org/'],
])('%s blocks %s, however it is written', (pattern, address) => {
  expect(navigationProblem(address, { allowHosts: [], blockHosts: [pattern] })).toContain('blocks');
  expect(navigationProblem(address, { allowHosts: [pattern], blockHosts: [] })).toBeNull();
  expect(navigationProblem('http://other.example/', { allowHosts: [], blockHosts: [pattern] })).toBeNull();
});

test.each(['https://example.org', 'example.org:8080', 'example.org/path', '*', 'example.*', 'user@example.org', ''])(
  'a pattern that names no host, %j, is an error in the settings',
  (pattern) => {
    expect(localSettings.safeParse({ browser: { blockHosts: [pattern] } }).success).toBe(false);
    expect(localSettings.safeParse({ browser: { allowHosts: [pattern] } }).success).toBe(false);
  },
);

test('an answer that goes on ends when its host is not allowed any more', async () => {
  const far = createServer((_request, response) => response.write('one'));
  await new Promise<void>((done) => far.listen(0, '127.0.0.1', done));
  let problem: string | null = null;
  const filter = await HostFilter.listen(() => problem);
  try {
    const { hostname, port } = new URL(filter.url);
    const sent = request({ hostname, port, path: `http://127.0.0.1:${(far.address() as AddressInfo).port}/` }).end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    answer.on('error', () => undefined);
    await once(answer, 'data');
    filter.recheck();
    expect(answer.destroyed).toBe(false);
    problem = 'blocked';
    filter.recheck();
    await new Promise<void>((done) => answer.once('close', done));
  } finally {
    await filter[Symbol.asyncDispose]();
    far.closeAllConnections();
    far.close();
  }
}, 5_000);
