import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const pollIntervalMs = 5_000;
const maxIdleUtilization = 0.2;
/** On a busy machine the process never appears idle. After this many checks it collects anyway. */
const maxChecks = 6;

/**
 * Runs one garbage collection when the process is idle after startup. V8 collects only when memory is requested, and an
 * idle hub requests none: about a fifth of its memory would remain garbage.
 */
export function collectStartupGarbage(): void {
  let before = performance.eventLoopUtilization();
  let checks = 0;
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    checks += 1;
    if (utilization > maxIdleUtilization && checks < maxChecks) return;
    clearInterval(timer);
    setFlagsFromString('--expose-gc');
    (runInNewContext('gc') as () => void)();
  }, pollIntervalMs);
  timer.unref();
}
