import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** Keys and sealed texts, all derived from the one secret key of an installation. */
export interface Secrets {
  /** Encrypts a text so that only this installation reads it, and only for the same purpose. */
  seal(purpose: string, text: string): string;
  /** @throws when the text was changed, or sealed with another key or for another purpose. */
  open(purpose: string, sealed: string): string;
  /** A 32-byte key of its own for one purpose. */
  subkey(purpose: string): Buffer;
  /** Tells one secret key from another without giving it away. */
  fingerprint: string;
}

const version = 'v1';
const nonceBytes = 12;
const tagBytes = 16;

/** @param key 32 random bytes. */
export function createSecrets(key: Buffer): Secrets {
  const subkeys = new Map<string, Buffer>();
  const subkey = (purpose: string): Buffer => {
    let derived = subkeys.get(purpose);
    if (derived === undefined) {
      derived = Buffer.from(hkdfSync('sha256', key, '', `outrigger ${purpose}`, 32));
      subkeys.set(purpose, derived);
    }
    return derived;
  };
  return {
    seal(purpose, text) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv('aes-256-gcm', subkey(`seal ${purpose}`), nonce);
      const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return `${version}:${sealed.toString('base64url')}`;
    },
    open(purpose, sealed) {
      const [foundVersion, body] = sealed.split(':');
      if (foundVersion !== version || body === undefined) throw new Error('this is no sealed text');
      const bytes = Buffer.from(body, 'base64url');
      try {
        const decipher = createDecipheriv('aes-256-gcm', subkey(`seal ${purpose}`), bytes.subarray(0, nonceBytes));
        decipher.setAuthTag(bytes.subarray(-tagBytes));
        return decipher.update(bytes.subarray(nonceBytes, -tagBytes)).toString('utf8') + decipher.final('utf8');
      } catch (error) {
        throw new Error('a sealed text was changed, or SECRET_KEY is not the one that sealed it', { cause: error });
      }
    },
    subkey,
    fingerprint: subkey('fingerprint').toString('hex').slice(0, 16),
  };
}
