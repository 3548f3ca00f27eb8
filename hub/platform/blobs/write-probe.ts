import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface WriteProbeOptions {
  /** How long a result is reused, in milliseconds. */
  cacheMs?: number;
}

const probeBytes = Buffer.alloc(64 * 1024, 1);
const defaultCacheMs = 5_000;

/**
 * Creates a function that tests whether a folder is writable. It rejects with the error of the write, or with the
 * signal's reason. Concurrent callers share one attempt, and its result is reused for `cacheMs`.
 */
export function createWriteProbe(
  folder: string,
  { cacheMs = defaultCacheMs }: WriteProbeOptions = {},
): (signal: AbortSignal) => Promise<void> {
  let latest: Promise<void> | undefined;
  let isRunning = false;
  let endedAt = 0;
  const attempt = async () => {
    const path = join(folder, randomUUID());
    try {
      await writeFile(path, probeBytes, { mode: 0o600, flag: 'wx' });
    } finally {
      await rm(path, { force: true }).catch(() => undefined);
      isRunning = false;
      endedAt = performance.now();
    }
  };
  return async (signal) => {
    if (latest === undefined || (!isRunning && performance.now() - endedAt >= cacheMs)) {
      isRunning = true;
      latest = attempt();
    }
    const aborted = Promise.withResolvers<never>();
    const onAbort = () => aborted.reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      await Promise.race([latest, aborted.promise]);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  };
}
