import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import { processKeys } from './peer.ts';

const algorithm = 'aes-256-gcm';
const tagBytes = 16;

/** The values that both ends exchanged before the first sealed line. */
export interface Agreement {
  /** The key in the data folder. */
  controlKey: Buffer;
  serverNonce: string;
  clientNonce: string;
  serverKey: string;
  clientKey: string;
}

/**
 * Encrypts the lines that one end writes and decrypts those of the other end. After a missing, repeated or foreign
 * line, decryption fails.
 */
export interface SealedLines {
  seal(value: unknown): string;
  /** @throws an error for a line that is not the next one of the other end. */
  open(line: unknown): unknown;
}

/** @throws an error when the public key of the other end is not a point of the curve. */
export function sealedLines(side: 'client' | 'server', agreement: Agreement): SealedLines {
  const { controlKey, serverNonce, clientNonce, serverKey, clientKey } = agreement;
  const shared = processKeys().keys.computeSecret(side === 'client' ? serverKey : clientKey, 'base64url');
  const secret = createHmac('sha256', controlKey).update(shared).digest();
  const keyOf = (end: 'client' | 'server') =>
    createHmac('sha256', secret).update(`${end}:${serverNonce}:${clientNonce}:${serverKey}:${clientKey}`).digest();
  const [ofClient, ofServer] = [keyOf('client'), keyOf('server')];
  const [ownKey, otherKey] = side === 'client' ? [ofClient, ofServer] : [ofServer, ofClient];
  let sealed = 0;
  let opened = 0;
  return {
    seal(value) {
      const cipher = createCipheriv(algorithm, ownKey, nonceOf(sealed), { authTagLength: tagBytes });
      sealed += 1;
      const text = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return text.toString('base64');
    },
    open(line) {
      if (typeof line !== 'string') throw new Error('The line is not sealed.');
      const bytes = Buffer.from(line, 'base64');
      const decipher = createDecipheriv(algorithm, otherKey, nonceOf(opened), { authTagLength: tagBytes });
      opened += 1;
      decipher.setAuthTag(bytes.subarray(-tagBytes));
      const text = Buffer.concat([decipher.update(bytes.subarray(0, -tagBytes)), decipher.final()]);
      return JSON.parse(text.toString('utf8'));
    },
  };
}

/** A counter is a safe nonce, because each key encrypts only one line with each number. */
function nonceOf(count: number): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeBigUInt64BE(BigInt(count), 4);
  return nonce;
}
