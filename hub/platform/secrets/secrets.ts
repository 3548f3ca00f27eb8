import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** Encryption and derived keys. All keys are derived from the secret key of the installation. */
export interface Secrets {
  /** Encrypts and authenticates a text for a purpose. */
  seal(purpose: string, text: string): string;
  /** Decrypts a sealed text. @throws when it was changed, or sealed with another key or for another purpose. */
  open(purpose: string, sealed: string): string;
  /** Derives a 32-byte key for a purpose. */
  subkey(purpose: string): Buffer;
  /** Identifies the secret key without revealing it. */
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
      if (foundVersion !== version || body === undefined) throw new Error('this is not a sealed text');
      const bytes = Buffer.from(body, 'base64url');
      try {
        const decipher = createDecipheriv('aes-256-gcm', subkey(`seal ${purpose}`), bytes.subarray(0, nonceBytes));
        decipher.setAuthTag(bytes.subarray(-tagBytes));
        return decipher.update(bytes.subarray(nonceBytes, -tagBytes)).toString('utf8') + decipher.final('utf8');
      } catch (error) {
        throw new Error('a sealed text was changed, or was sealed with another SECRET_KEY', { cause: error });
      }
    },
    subkey,
    fingerprint: subkey('fingerprint').toString('hex').slice(0, 16),
  };
}
