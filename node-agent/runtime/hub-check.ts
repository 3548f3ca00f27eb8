import type { Identity } from './data-folder.ts';
import { HubClient } from './hub-client.ts';

const skewAllowedMs = 60_000;

/** How this machine's clock compares with the hub's clock. */
export interface HubCheck {
  clock: string;
  isClockWrong: boolean;
}

/**
 * Checks that the hub knows this machine, by a poll that returns no commands.
 * @throws HubError that says what is wrong, or the signal's reason.
 */
export async function askHub(
  { hub, nodeId, deviceSecret }: Pick<Identity, 'hub' | 'nodeId' | 'deviceSecret'>,
  signal: AbortSignal,
): Promise<HubCheck> {
  const { hubAheadMs } = await new HubClient(hub, deviceSecret).call(
    'pollAutomationNodeCommands',
    { params: { id: nodeId }, query: { wait: 0, max: 0 } },
    { signal, timeoutMs: 10_000 },
  );
  return describeClock(hubAheadMs);
}

/** @param hubAheadMs How far the hub's clock is ahead of this machine's clock, in milliseconds. */
export function describeClock(hubAheadMs: number): HubCheck {
  const isClockWrong = Math.abs(hubAheadMs) > skewAllowedMs;
  return {
    isClockWrong,
    clock: isClockWrong
      ? `is ${Math.round(Math.abs(hubAheadMs) / 1000)} s ${hubAheadMs > 0 ? 'behind' : 'ahead of'} the hub's clock; set the time of this machine or of the hub`
      : 'agrees with the hub',
  };
}
