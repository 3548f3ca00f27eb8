import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Response } from 'express';
import type { Operation } from '../../../../shared/contract/define.ts';
import type { Principal } from '../auth/principal.ts';
import { acceptsEncoding } from '../pages/built-files.ts';

const compress = promisify(gzip);
/** Smaller answers gain nothing, in bytes. */
const minCompressedBytes = 1_024;
/** Of the levels of gzip the one that acceptsEncoding the least time. */
const level = 1;

/**
 * Sends a compressible answer as gzip where its caller accepts that and is known by a key or a bearer token. A caller who is known by a cookie gets it plain: any
 * site can have a browser send the cookie, and so measure answers.
 * @param onLength called with the length of what is sent before anything is, and may throw.
 * @returns whether it was sent.
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
  if (!isKnownByHeader(response.req, principal)) return false;
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

const isKnownByHeader = ({ headers }: IncomingMessage, { kind }: Principal): boolean =>
  kind === 'token' || (kind === 'session' && headers.authorization !== undefined);
