import { request } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
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
const get = (path: string, headers: Record<string, string>) =>
  new Promise<Answer>((done, fail) => {
    request(`${hub.url}${path}`, { headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        done({ status: response.statusCode, headers: response.headers, bytes: Buffer.concat(chunks) }),
      );
    })
      .on('error', fail)
      .end();
  });

test.each(['/openapi.json', '/assets/scalar.js'])(
  '%s is sent compressed, with a tag that saves sending it again',
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
      expect(answer.bytes.length).toBeLessThan(plain.bytes.length / 2);
      const again = await get(path, { 'accept-encoding': encoding, 'if-none-match': String(answer.headers['etag']) });
      expect([again.status, again.bytes.length]).toEqual([304, 0]);
    }
  },
);
