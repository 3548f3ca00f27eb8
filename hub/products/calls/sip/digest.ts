import { createHash, randomBytes } from 'node:crypto';
import { quote } from './header-values.ts';
import type { Challenge } from './header-values.ts';

/** Digest algorithms, strongest first (RFC 8760). A challenge without an algorithm means MD5. */
const algorithms = new Map([
  ['sha-512-256', 'sha512-256'],
  ['sha-256', 'sha256'],
  ['md5', 'md5'],
]);
const strength = [...algorithms.keys()];

interface SupportedChallenge {
  hash: string;
  rank: number;
  /** The algorithm as spelled in the challenge. Null if the challenge names none. */
  algorithm: string | null;
  isSession: boolean;
  realm: string;
  nonce: string;
  opaque: string | null;
  hasQop: boolean;
}

/** Returns the strongest supported challenge, or null. */
export function chooseChallenge(challenges: readonly Challenge[]): SupportedChallenge | null {
  const supported = challenges.flatMap(({ scheme, parameters }): SupportedChallenge[] => {
    const algorithm = parameters.get('algorithm') ?? null;
    const name = (algorithm ?? 'md5').toLowerCase();
    const base = name.replace(/-sess$/, '');
    const hash = algorithms.get(base);
    const [realm, nonce, qop] = [parameters.get('realm'), parameters.get('nonce'), parameters.get('qop')];
    if (scheme !== 'digest' || hash === undefined || realm === undefined || nonce === undefined) return [];
    const offers = qop?.split(',').map((offer) => offer.trim().toLowerCase());
    if (offers !== undefined && !offers.includes('auth')) return [];
    return [
      {
        hash,
        rank: strength.indexOf(base),
        algorithm,
        isSession: name !== base,
        realm,
        nonce,
        opaque: parameters.get('opaque') ?? null,
        hasQop: offers !== undefined,
      },
    ];
  });
  return supported.toSorted((one, other) => one.rank - other.rank)[0] ?? null;
}

export interface DigestRequest {
  method: string;
  uri: string;
  username: string;
  password: string;
  /** Fixed value for tests with known responses. */
  clientNonce?: string;
}

/** The Authorization or Proxy-Authorization value that answers a challenge. */
export function answerChallenge(challenge: SupportedChallenge, request: DigestRequest): string {
  const { method, uri, username, password, clientNonce = randomBytes(16).toString('hex') } = request;
  const { realm, nonce, opaque, hash, hasQop, isSession, algorithm } = challenge;
  const digest = (...parts: string[]) => createHash(hash).update(parts.join(':')).digest('hex');
  const secret = digest(username, realm, password);
  const first = isSession ? digest(secret, nonce, clientNonce) : secret;
  const second = digest(method, uri);
  const count = '00000001';
  const response = hasQop ? digest(first, nonce, count, clientNonce, 'auth', second) : digest(first, nonce, second);
  const parts = [
    `username=${quote(username)}`,
    `realm=${quote(realm)}`,
    `nonce=${quote(nonce)}`,
    `uri=${quote(uri)}`,
    `response="${response}"`,
  ];
  if (algorithm !== null) parts.push(`algorithm=${algorithm}`);
  if (opaque !== null) parts.push(`opaque=${quote(opaque)}`);
  if (hasQop) parts.push('qop=auth', `nc=${count}`);
  if (hasQop || isSession) parts.push(`cnonce="${clientNonce}"`);
  return `Digest ${parts.join(', ')}`;
}
