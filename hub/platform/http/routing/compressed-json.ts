import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Response } from 'express';
import type { Operation } from '../../../../shared/contract/define.ts';
import type { Principal } from '../auth/principal.ts';
import { acceptsEncoding } from '../pages/built-files.ts';

const compress = promisify(gzip);
/** Compressing smaller responses saves nothing. */
const minCompressedBytes = 1_024;
/** The fastest level of gzip. */
const level = 1;

/**
 * Sends a compressible response as gzip when the caller accepts gzip and authenticates by a header. A caller that
 * authenticates by a cookie gets no compression: any site can make a browser send the cookie, and could measure the
 * size of compressed responses.
 * @param onLength called with the length of the compressed body before anything is sent, and may throw.
 * @returns whether the response was sent.
 */
export async function sendCompressedJson(
  response: Response,
  { compressible, method }: Operation,
  principal: Principal,
  body: unknown,
  onLength: (bytes: number) => void,
): Promise<boolean> {
  if (compressible !== true || method !== 'GET') return false;
  response.vary('Accept-Encoding');
  if (!authenticatesByHeader(response.req, principal)) return false;
  if (!acceptsEncoding(String(response.req.headers['accept-encoding'] ?? ''), 'gzip')) return false;
  const plain = Buffer.from(JSON.stringify(body));
  if (plain.length < minCompressedBytes) return false;
  const bytes = await compress(plain, { level });
  if (response.headersSent || response.destroyed) return true;
  onLength(bytes.length);
  response.set({
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Encoding': 'gzip',
    'Content-Length': String(bytes.length),
  });
  response.end(bytes);
  return true;
}

const authenticatesByHeader = ({ headers }: IncomingMessage, { kind }: Principal): boolean =>
  kind === 'token' || (kind === 'session' && headers.authorization !== undefined);
