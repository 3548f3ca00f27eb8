import { createCipheriv, createECDH, hkdfSync, randomBytes } from 'node:crypto';

/** Keys of a browser that receives encrypted messages. */
export interface PushKeys {
  /** Uncompressed point on the curve P-256, 65 bytes. */
  p256dh: Buffer;
  /** Shared secret, 16 bytes. */
  auth: Buffer;
}

const curve = 'prime256v1';
/** Every message has the same size, so that its length reveals nothing. */
const paddedBytes = 2_048;
const tagBytes = 16;
/** Marks the end of the content of the last record (RFC 8188). */
const lastRecord = 2;

/** Whether the bytes are an uncompressed point on the curve P-256. */
export function isCurvePoint(point: Buffer): boolean {
  if (point.length !== 65 || point[0] !== 4) return false;
  const own = createECDH(curve);
  own.generateKeys();
  try {
    own.computeSecret(point);
    return true;
  } catch {
    return false;
  }
}

/**
 * Encrypts a message for a browser, as one record of `aes128gcm` (RFC 8291).
 * @throws RangeError for a message of more than 2,047 bytes.
 */
export function encryptPush(message: string, { p256dh, auth }: PushKeys): Buffer {
  const content = Buffer.from(message, 'utf8');
  if (content.length >= paddedBytes) throw new RangeError(`A push message has at most ${paddedBytes - 1} bytes.`);
  const padded = Buffer.alloc(paddedBytes);
  content.copy(padded);
  padded[content.length] = lastRecord;

  const own = createECDH(curve);
  const ownPublic = own.generateKeys();
  const salt = randomBytes(16);
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), p256dh, ownPublic]);
  const material = hkdfSync('sha256', own.computeSecret(p256dh), auth, info, 32);
  const derive = (purpose: string, bytes: number) =>
    Buffer.from(hkdfSync('sha256', Buffer.from(material), salt, `Content-Encoding: ${purpose}\0`, bytes));
  const cipher = createCipheriv('aes-128-gcm', derive('aes128gcm', 16), derive('nonce', 12));

  const header = Buffer.alloc(5);
  header.writeUInt32BE(paddedBytes + tagBytes);
  header.writeUInt8(ownPublic.length, 4);
  return Buffer.concat([salt, header, ownPublic, cipher.update(padded), cipher.final(), cipher.getAuthTag()]);
}
