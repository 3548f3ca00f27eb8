import { createHash, createHmac, randomBytes, randomInt } from 'node:crypto';

const crockford = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Returns a new pairing code: 8 characters of Crockford base32 (40 bits), formatted as `ABCD-EFGH`. */
export function newPairingCode(): string {
  const characters = Array.from({ length: 8 }, () => crockford[randomInt(32)]).join('');
  return `${characters.slice(0, 4)}-${characters.slice(4)}`;
}

/** Returns the canonical form of a typed code, or null when it cannot be a code. */
export function normalisePairingCode(typed: string): string | null {
  const code = typed.toUpperCase().replaceAll(/[\s-]/g, '').replaceAll('O', '0').replaceAll(/[IL]/g, '1');
  return /^[0-9A-HJKMNP-TV-Z]{8}$/.test(code) ? code : null;
}

/**
 * Returns the stored hash of a code. The hash is keyed, because 40 bits can be guessed from a plain hash.
 * A lookup by this hash takes the same time for every code.
 */
export function pairingCodeHash(key: Buffer, code: string): Buffer {
  return createHmac('sha256', key).update(code.replaceAll('-', '')).digest();
}

/** Returns a new device secret: 32 random bytes as base64url. */
export function newDeviceSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** Returns the stored hash of a device secret. A plain hash is enough, because the secret has 256 bits of entropy. */
export function deviceSecretHash(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
