import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const lookEveryMs = 5_000;
const idleShare = 0.1;

/**
 * Gives back what loading left behind, once, as soon as there is nothing to do: V8 collects when memory is wanted, and an idle hub wants none, so that
 * a fifth of its memory would stay garbage for good.
 */
export function releaseStartGarbage(): void {
  let before = performance.eventLoopUtilization();
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    if (utilization > idleShare) return;
    clearInterval(timer);
    setFlagsFromString('--expose-gc');
    (runInNewContext('gc') as () => void)();
  }, lookEveryMs);
  timer.unref();
}
