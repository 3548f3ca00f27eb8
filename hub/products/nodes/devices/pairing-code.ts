import { createHash, createHmac, randomBytes, randomInt } from 'node:crypto';

const crockford = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** A new pairing code: 8 characters of Crockford base32, 40 bits, shown `ABCD-EFGH`. */
export function newPairingCode(): string {
  const characters = Array.from({ length: 8 }, () => crockford[randomInt(32)]).join('');
  return `${characters.slice(0, 4)}-${characters.slice(4)}`;
}

/** The one spelling of a code as a person may type it, or null when it can't be one. */
export function normalisePairingCode(typed: string): string | null {
  const code = typed.toUpperCase().replaceAll(/[\s-]/g, '').replaceAll('O', '0').replaceAll(/[IL]/g, '1');
  return /^[0-9A-HJKMNP-TV-Z]{8}$/.test(code) ? code : null;
}

/**
 * What of a code is stored. 40 bits could be guessed from a bare hash, so it is keyed; looking it up by this value takes the
 * same time whatever the code.
 */
export function pairingCodeHash(key: Buffer, code: string): Buffer {
  return createHmac('sha256', key).update(code.replaceAll('-', '')).digest();
}

/** A new device secret: 32 random bytes. */
export function newDeviceSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** What of a device secret is stored; it has full entropy, so a plain hash does. */
export function deviceSecretHash(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
