import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { memberPictureRoutes } from '../pictures/routes.ts';
import { IncomingFiles } from './incoming.ts';
import { chatFileRoutes } from './routes.ts';

type FileRoutes = Parameters<typeof chatFileRoutes>[0];
type PictureRoutes = Parameters<typeof memberPictureRoutes>[0];
type Principal = Record<string, unknown>;

const rateLimiter = { take: async () => ({ allowed: true }) } as unknown as FileRoutes['rateLimiter'];
const session: Principal = { kind: 'session', tenantId: 'a', user: { id: 'one' }, sessionId: 's' };

test.each([
  [
    'uploadInboxFile',
    (incoming: IncomingFiles, store: () => Promise<unknown>) =>
      chatFileRoutes({
        files: { admit: async () => undefined, keep: store } as unknown as FileRoutes['files'],
        incoming,
        rateLimiter,
      }),
  ],
  [
    'putMyPicture',
    (incoming: IncomingFiles, store: () => Promise<unknown>) =>
      memberPictureRoutes({
        pictures: { assertMember: async () => undefined, put: store } as unknown as PictureRoutes['pictures'],
        incoming,
        rateLimiter,
      }),
  ],
])('%s keeps its share of the upload memory until the file is stored', async (operation, createRoutes) => {
  const storing = Promise.withResolvers<void>();
  const stored = Promise.withResolvers<string>();
  const store = () => {
    storing.resolve();
    return stored.promise;
  };
  const route = createRoutes(new IncomingFiles({ maxPerSender: 1 }), store).find(
    (found) => found.operation.id === operation,
  );
  const server = createServer((request, response) => {
    const exchange = { principal: session, params: { id: 'c' }, query: { name: 'a.txt' }, raw: { request, response } };
    const handled = route?.handle({
      ...exchange,
      address: '192.0.2.1',
      signal: new AbortController().signal,
      recheck: async () => undefined,
    } as unknown as Parameters<typeof route.handle>[0]);
    handled?.then(
      (result) => response.end(String(result)),
      (error: Error) => response.end(error.message),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
  });
  const upload = async () => {
    const { port } = server.address() as AddressInfo;
    const response = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: 'the file' });
    return response.text();
  };
  const first = upload();
  await storing.promise;
  expect(await upload()).toContain('Too many files are being sent at once');
  stored.resolve('stored');
  expect(await first).toBe('stored');
  expect(await upload()).toBe('stored');
});
