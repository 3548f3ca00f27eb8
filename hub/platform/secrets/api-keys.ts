import { createHash, randomBytes, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Product } from '../../../shared/contract/define.ts';

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const secretLength = 43;
const checksumLength = 6;

export type Environment = 'live' | 'test';

export interface ParsedKey {
  product: Product;
  environment: Environment;
  secret: string;
}

function toBase62(value: bigint, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest /= 62n) text = base62[Number(rest % 62n)] + text;
  return text;
}

/** The checksum lets a secret scanner recognize real keys offline. */
function checksum(text: string): string {
  return toBase62(BigInt(crc32(text)), checksumLength);
}

/**
 * Start of a key. Live Chat is the oldest product: its live keys name no product, and its test keys have `live` in
 * place of the product.
 */
function keyStart(product: Product, environment: Environment): string {
  if (product === 'chat') return environment === 'live' ? 'key_live' : 'key_test_live';
  return `key_${environment}_${product}`;
}

/** Creates an API key. `hint` is the part that may be shown later. */
export function newApiKey(product: Product, environment: Environment): { key: string; hint: string; secret: string } {
  const prefix = Array.from({ length: 8 }, () => 'abcdefghijklmnopqrstuvwxyz0123456789'[randomInt(36)]).join('');
  const body = toBase62(BigInt(`0x${randomBytes(32).toString('hex')}`), secretLength);
  const start = `${keyStart(product, environment)}_${prefix}`;
  const secret = body + checksum(`${start}_${body}`);
  return { key: `${start}_${secret}`, hint: `${start}_…`, secret };
}

const keyPattern =
  /^((key_(live|test)(?:_(ai|automations|voice|live))?)_[a-z0-9]{8})_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/;

/** Parses an API key. Returns null for a wrong format or checksum. */
export function parseApiKey(key: string): ParsedKey | null {
  const match = keyPattern.exec(key);
  if (match === null) return null;
  const [, start, keyLead, environment, named, body, sum] = match as unknown as [
    string,
    string,
    string,
    Environment,
    string | undefined,
    string,
    string,
  ];
  const product: Product = named === undefined || named === 'live' ? 'chat' : (named as Product);
  if (keyLead !== keyStart(product, environment) || sum !== checksum(`${start}_${body}`)) return null;
  return { product, environment, secret: body + sum };
}

/** Hash of a secret, as it is stored. Secrets are random, so they need no slow hash. */
export function secretHash(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
