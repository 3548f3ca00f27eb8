import { createECDH, createHash } from 'node:crypto';
import type { ECDH } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { isStartedByCommand } from '../process-guard.ts';

/**
 * Identifies the process at the other end of a control socket. Node.js has no access to SO_PEERCRED, and with a relay
 * between both ends the socket's peer would be the relay. So each process has a key pair and shows the fingerprint of
 * its public key as its name (`/proc/PID/comm`), which no other process can write. The channel is sealed with both
 * keys, so only these two processes can write to it. The limits that the process guard sets then show whether a
 * workflow started the process.
 */

/**
 * `owner`: no workflow started the process. `program`: a workflow started it, or it did not prove its identity.
 * `unknown`: this system does not show processes.
 */
export type PeerKind = 'owner' | 'program' | 'unknown';

/** The identity that one end of a control channel claims. */
export interface Peer {
  pid: number;
  /** Public key on the curve P-256, compressed, in base64url. */
  publicKey: string;
}

const commPath = '/proc/self/comm';
/** Longest process name that the kernel stores; 90 bits of the fingerprint. */
const nameLength = 15;

const fingerprintOf = (publicKey: string): string =>
  createHash('sha256').update(publicKey).digest('base64url').slice(0, nameLength);

let ownKeys: { keys: ECDH; publicKey: string } | undefined;

/** The key pair of this process. */
export function processKeys(): { keys: ECDH; publicKey: string } {
  if (ownKeys === undefined) {
    const keys = createECDH('prime256v1');
    ownKeys = { keys, publicKey: keys.generateKeys('base64url', 'compressed') };
  }
  return ownKeys;
}

/** Number of undisposed `publishFingerprintAsProcessName` calls. */
let publications = 0;
let nameBefore: string | undefined;

/** Sets the name of this process to the fingerprint of its key, until disposed. */
export function publishFingerprintAsProcessName(): Disposable {
  if (process.platform !== 'linux') return { [Symbol.dispose]: () => undefined };
  if (publications === 0)
    try {
      nameBefore = readFileSync(commPath, 'utf8').trimEnd();
      writeFileSync(commPath, fingerprintOf(processKeys().publicKey));
    } catch {
      // The name does not match then, so the other end refuses the connection.
    }
  publications += 1;
  let isDisposed = false;
  return {
    [Symbol.dispose]: () => {
      if (isDisposed) return;
      isDisposed = true;
      publications -= 1;
      if (publications > 0 || nameBefore === undefined) return;
      try {
        writeFileSync(commPath, nameBefore);
      } catch {
        // The name is only visible in lists of processes.
      }
    },
  };
}

/** Checks that the claimed process has the peer's key, and whether a workflow started the process. */
export function peerKindOf({ pid, publicKey }: Peer): PeerKind {
  if (process.platform !== 'linux') return 'unknown';
  try {
    if (readFileSync(`/proc/${pid}/comm`, 'utf8').trimEnd() !== fingerprintOf(publicKey)) return 'program';
  } catch {
    return 'program';
  }
  return isStartedByCommand(pid) ? 'program' : 'owner';
}
