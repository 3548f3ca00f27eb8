/**
 * Encodings of the points of small order on Curve25519, without the sign bit. Such a key accepts signatures that were
 * made without a secret.
 */
const smallOrderPoints = new Set([
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
]);

/** Whether a base64 ed25519 public key accepts forged signatures. */
export function isOfSmallOrder(publicKey: string): boolean {
  const bytes = Buffer.from(publicKey, 'base64');
  bytes[31] = (bytes[31] ?? 0) & 0x7f;
  return smallOrderPoints.has(bytes.toString('hex'));
}
