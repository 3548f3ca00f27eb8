import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterEach, beforeAll, expect, test, vi } from 'vitest';
import { makeCertificate } from '../../../test/fixtures/certificates.ts';
import { startConnectProxy } from '../../../test/fixtures/connect-proxy.ts';
import { fetchSmallFile, usualDeadlines } from './request.ts';

const certificate = makeCertificate('updates.test');
const server = createServer(certificate, (_request, response) => response.end('feed'));
const options = { deadlines: usualDeadlines, signal: new AbortController().signal };

beforeAll(async () => {
  setDefaultCACertificates([...getCACertificates('default'), certificate.cert]);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return () => {
    server.closeAllConnections();
    server.close();
  };
});
afterEach(() => vi.unstubAllEnvs());

test('updates are fetched through the proxy of the environment', async () => {
  await using proxy = await startConnectProxy({ 'updates.test:443': (server.address() as AddressInfo).port });
  vi.stubEnv('HTTPS_PROXY', `http://${proxy.host}`);
  expect(String(await fetchSmallFile('https://updates.test/feed.json', 100, options))).toBe('feed');
  expect(proxy.opened).toEqual(['updates.test:443']);
});

test('an update that a proxy refuses names the proxy', async () => {
  await using proxy = await startConnectProxy({});
  vi.stubEnv('HTTPS_PROXY', `http://${proxy.host}`);
  await expect(fetchSmallFile('https://updates.test/feed.json', 100, options)).rejects.toThrow(
    `https://updates.test can't be reached: the proxy http://${proxy.host} (HTTPS_PROXY) opens no connection to updates.test:443`,
  );
});
