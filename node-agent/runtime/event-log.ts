import { visibleLine } from '../../shared/visible-text.ts';

/** Events that a running companion writes to its log, one line each. */
export type CompanionEvent =
  | { event: 'connected'; hub: string; by: 'channel' | 'poll' }
  | { event: 'disconnected'; reason: string; retryInSeconds: number }
  | { event: 'command'; type: string; outcome: string; message: string | null }
  | { event: 'settings'; paused: boolean }
  | { event: 'fault'; message: string }
  | { event: 'stopped'; reason: string };

const windowMs = 60_000;
/** Disconnections that are reported per minute. */
const maxDisconnects = 10;

/** A reported event, with the number of times it occurred since the last report. */
export type ThrottledEvent = CompanionEvent & { times?: number };

/**
 * Reports events, but limits those about the connection: a lost connection is reported when it starts and then once a
 * minute, and at most `maxDisconnects` disconnections a minute are reported.
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

/** An event as a line of text for the owner. */
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
      return `internal error: ${visibleLine(event.message)}`;
    case 'stopped':
      return `stopped: ${event.reason}`;
  }
}
