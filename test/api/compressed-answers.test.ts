import { request } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { operations } from '../../shared/contract/api.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';

let hub: TestHub;
beforeAll(async () => {
  hub = await startHub();
});
afterAll(() => hub[Symbol.asyncDispose]());

interface Answer {
  status: number | undefined;
  headers: Record<string, unknown>;
  bytes: Buffer;
}
/** The bytes as they came: fetch would unpack them. */
const get = (path: string, headers: Record<string, string>, method: 'GET' | 'HEAD' = 'GET') =>
  new Promise<Answer>((done, fail) => {
    request(`${hub.url}${path}`, { method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        done({ status: response.statusCode, headers: response.headers, bytes: Buffer.concat(chunks) }),
      );
    })
      .on('error', fail)
      .end();
  });

test.each(['/openapi.json', '/assets/scalar.js', '/assets/docs.js', '/assets/page.css'])(
  '%s is sent compressed, with an ETag that prevents sending it again',
  async (path) => {
    const plain = await get(path, {});
    expect(plain.headers['content-encoding']).toBeUndefined();
    for (const [encoding, unpack] of [
      ['gzip', gunzipSync],
      ['br', brotliDecompressSync],
    ] as const) {
      const answer = await get(path, { 'accept-encoding': encoding });
      expect(answer).toMatchObject({ status: 200, headers: { 'content-encoding': encoding, vary: 'Accept-Encoding' } });
      expect(unpack(answer.bytes).equals(plain.bytes)).toBe(true);
      expect(answer.bytes.length).toBeLessThan(plain.bytes.length * 0.7);
      const again = await get(path, { 'accept-encoding': encoding, 'if-none-match': String(answer.headers['etag']) });
      expect([again.status, again.bytes.length]).toEqual([304, 0]);
    }
  },
);

test('other spellings of a path are served from the same compressed copy', async () => {
  const spellings = Array.from({ length: 32 }, (_, n) =>
    [...'scalar'].map((letter, at) => ((n >> at) & 1 ? letter.toUpperCase() : letter)).join(''),
  );
  await get('/assets/scalar.js', { 'accept-encoding': 'br' });
  const before = process.memoryUsage().arrayBuffers;
  for (const spelling of spellings) {
    // Without the bytes, which would use the memory of this process too.
    const { status } = await get(`/assets/${spelling}.js`, { 'accept-encoding': 'br' }, 'HEAD');
    expect(status).toBe(200);
  }
  // One copy is 5 MB.
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(60_000_000);
});

describe('an API response', () => {
  const catalog = '/v1/automations/skills/catalog';

  test('without secrets is compressed only for keys and bearer tokens that accept it', async () => {
    const { key, jwt } = await hub.workspace();
    const callers: Record<string, string>[] = [
      { 'x-api-key': key },
      { authorization: `Bearer ${key}` },
      { authorization: `Bearer ${jwt}` },
    ];
    for (const caller of callers) {
      const plain = await get(catalog, caller);
      expect(plain.status).toBe(200);
      expect(plain.headers['content-encoding']).toBeUndefined();
      expect(String(plain.headers['vary'])).toContain('Accept-Encoding');
      const answer = await get(catalog, { ...caller, 'accept-encoding': 'br, gzip' });
      expect(answer.headers).toMatchObject({
        'content-encoding': 'gzip',
        'content-length': String(answer.bytes.length),
      });
      expect(gunzipSync(answer.bytes).equals(plain.bytes)).toBe(true);
      expect(answer.bytes.length).toBeLessThan(plain.bytes.length / 3);
    }
    // Any site can have a browser send the cookie.
    const byCookie = await get(catalog, { cookie: `outrigger_session=${jwt}`, 'accept-encoding': 'gzip' });
    expect(byCookie.status).toBe(200);
    expect(byCookie.headers['content-encoding']).toBeUndefined();
    const refused = await get(catalog, { 'x-api-key': 'nonsense', 'accept-encoding': 'gzip' });
    expect(refused.status).toBe(401);
    expect(refused.headers['content-encoding']).toBeUndefined();
  });

  test('that can contain secrets or text of third parties is never compressed', async () => {
    const { key, keys, jwt, tenantId } = await hub.workspace();
    const name = 'w'.repeat(200);
    for (let count = 0; count < 8; count += 1)
      await hub
        .client(key)
        .call('createAutomationWorkflow', { body: { name, stepsJson: [{ type: 'log', message: 'x' }] as never } });
    const asked: [path: string, headers: Record<string, string>][] = [
      ['/v1/automations/workflows', { 'x-api-key': key }],
      ['/v1/chat/conversations', { 'x-api-key': keys.chat as string }],
      [`/tenants/${tenantId}/audit`, { authorization: `Bearer ${jwt}` }],
    ];
    for (const [path, headers] of asked) {
      const answer = await get(path, { ...headers, 'accept-encoding': 'gzip, br' });
      expect([path, answer.status, answer.headers['content-encoding']]).toEqual([path, 200, undefined]);
    }
  });

  test('is declared compressible only for reads', () => {
    const declared = operations.filter((operation) => operation.compressible === true);
    expect(declared.map(({ id }) => id).toSorted()).toEqual([
      'getAiUsage',
      'getAutomationSkillPack',
      'getAutomationSkillSdk',
      'listAutomationSkillCatalog',
      'listAutomationSkills',
    ]);
    expect(new Set(declared.map(({ method }) => method))).toEqual(new Set(['GET']));
  });
});
