import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { isStartedByCommand } from '../process-guard.ts';

/**
 * Which process is at the other end of a control socket. Node.js does not tell, so that the client shows it: it takes a name that the server chose
 * (`/proc/self/comm`), which the kernel lets no other process give it, and says its number. The limits by which the process guard marks what a command starts then
 * say whether a workflow started it.
 */

/** `owner`: no workflow started it. `program`: a workflow did, or it did not show which process it is. `unknown`: this system can not tell. */
export type Standing = 'owner' | 'program' | 'unknown';

const commPath = '/proc/self/comm';

/** A name for a process, of the length that the kernel keeps; null where a process can not show it. */
export const newProcessName = (): string | null =>
  process.platform === 'linux' ? `or-${randomBytes(6).toString('hex')}` : null;

/** Gives this process a name until it is disposed. */
export function takeProcessName(name: string): Disposable {
  let before: string | undefined;
  try {
    before = readFileSync(commPath, 'utf8').trimEnd();
    writeFileSync(commPath, name);
  } catch {
    // Then the server sees that it has another.
  }
  return {
    [Symbol.dispose]: () => {
      try {
        if (before !== undefined) writeFileSync(commPath, before);
      } catch {
        // It is a name for listings of processes, and nothing else.
      }
    },
  };
}

/** @param wanted The name that the process was to take; null where this system knows none. */
export function standingOf(wanted: string | null, pid: number | undefined): Standing {
  if (wanted === null) return 'unknown';
  if (pid === undefined) return 'program';
  try {
    if (readFileSync(`/proc/${pid}/comm`, 'utf8').trimEnd() !== wanted) return 'program';
  } catch {
    return 'program';
  }
  return isStartedByCommand(pid) ? 'program' : 'owner';
}
