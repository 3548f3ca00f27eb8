import { visibleLine } from '../../shared/visible-text.ts';

/** What a running companion tells its owner, a line each. */
export type CompanionEvent =
  | { event: 'connected'; hub: string; by: 'channel' | 'poll' }
  | { event: 'disconnected'; reason: string; retryInSeconds: number }
  | { event: 'command'; type: string; outcome: string; message: string | null }
  | { event: 'settings'; paused: boolean }
  | { event: 'fault'; message: string }
  | { event: 'stopped'; reason: string };

const windowMs = 60_000;
/** Connections that were lost and came back, told of in one minute. */
const maxDisconnects = 10;

/** An event as it is told: with how often it came since the last that was. */
export type ThrottledEvent = CompanionEvent & { times?: number };

/**
 * Tells events, but a thing that lasts only once when it begins and once a minute while it does: a hub that is away for a night makes a line a minute,
 * however often it is tried and whatever each try says; a connection that comes and goes all the time, ten pairs.
 */
export function throttleEvents(
  report: (event: ThrottledEvent) => void,
  now: () => number = () => performance.now(),
): (event: CompanionEvent) => void {
  let reportedAt = Number.NEGATIVE_INFINITY;
  let isDisconnected = false;
  let isReported = false;
  let withheld = 0;
  let windowStart = Number.NEGATIVE_INFINITY;
  let disconnects = 0;
  return (event) => {
    if (event.event === 'connected' && isDisconnected) {
      isDisconnected = false;
      if (isReported) report(event);
      return;
    }
    if (event.event !== 'disconnected') {
      report(event);
      return;
    }
    const at = now();
    if (at - windowStart >= windowMs) [windowStart, disconnects] = [at, 0];
    const isNew = !isDisconnected;
    if (isNew) [isDisconnected, isReported, disconnects] = [true, false, disconnects + 1];
    if (isNew ? disconnects > maxDisconnects : at - reportedAt < windowMs) {
      withheld += 1;
      return;
    }
    report(withheld === 0 ? event : { ...event, times: withheld + 1 });
    [reportedAt, isReported, withheld] = [at, true, 0];
  };
}

/** An event as its owner reads it. */
export function describeEvent(event: ThrottledEvent): string {
  switch (event.event) {
    case 'connected':
      return `connected to ${event.hub}${event.by === 'channel' ? '' : ' by polls'}`;
    case 'disconnected':
      return `not connected: ${visibleLine(event.reason).replace(/\.$/, '')}; trying again in ${event.retryInSeconds} s${event.times === undefined ? '' : ` (${event.times} times)`}`;
    case 'command':
      return `${visibleLine(event.type)}  ${event.outcome}${event.message === null ? '' : `  ${visibleLine(event.message)}`}`;
    case 'settings':
      return event.paused ? 'paused' : 'your settings changed';
    case 'fault':
      return `a fault of the companion: ${visibleLine(event.message)}`;
    case 'stopped':
      return `stopped: ${event.reason}`;
  }
}
