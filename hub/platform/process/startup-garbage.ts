import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const pollIntervalMs = 5_000;
const maxIdleUtilization = 0.2;
/** On a machine that is busy with other things no process ever looks idle; then it is done all the same. */
const maxChecks = 6;

/**
 * Gives back what loading left behind, once, as soon as there is little to do: V8 collects when memory is wanted, and an idle hub wants none, so that
 * a fifth of its memory would stay garbage for good.
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
