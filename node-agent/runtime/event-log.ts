import type { PromptAnswer } from '../../shared/companion/state.ts';
import { visibleLine } from '../../shared/visible-text.ts';
import { localTime } from './cli/local-time.ts';

/** A command waits for the owner's answer, or waits no longer. */
export type PromptEvent = {
  promptId: string;
  /** The command line. */
  command: string;
} & (
  | { event: 'prompt'; runId: string | null; workflow: string | null; expiresAt: string }
  | { event: 'prompt_ended'; outcome: PromptAnswer | 'not_answered' | 'ended' }
);

/** Events that a running companion writes to its log, one line each. */
export type CompanionEvent =
  | { event: 'connected'; hub: string; by: 'channel' | 'poll' }
  | { event: 'disconnected'; reason: string; retryInSeconds: number }
  | { event: 'command'; type: string; outcome: string; message: string | null }
  | { event: 'settings'; paused: boolean }
  | PromptEvent
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

const maxCommandLength = 200;
const shownCommand = ({ command }: PromptEvent) =>
  visibleLine(command.length > maxCommandLength ? `${command.slice(0, maxCommandLength)}…` : command);

const promptOutcomes: Record<string, string> = {
  deny: 'you denied it',
  once: 'you allowed it once',
  '30_minutes': 'you allowed it for 30 minutes',
  always: 'you allowed it for good',
  never: 'you refused it for good',
  not_answered: 'refused, because you did not answer in time',
  ended: 'it does not wait any more: the hub or the companion ended it',
};

/** Names the run of a prompt. */
const runOf = (runId: string | null, workflow: string | null) =>
  runId === null ? '' : ` (run ${runId}${workflow === null ? '' : ` of ${JSON.stringify(visibleLine(workflow))}`})`;

/**
 * An event as a line of text for the owner.
 * @param options Options that a command of the owner needs to reach this companion, with a space before each.
 */
export function describeEvent(event: ThrottledEvent, options = ''): string {
  switch (event.event) {
    case 'connected':
      return `connected to ${event.hub}${event.by === 'channel' ? '' : ' by polls'}`;
    case 'disconnected':
      return `not connected: ${visibleLine(event.reason).replace(/\.$/, '')}; trying again in ${event.retryInSeconds} s${event.times === undefined ? '' : ` (${event.times} times)`}`;
    case 'command':
      return `${visibleLine(event.type)}  ${event.outcome}${event.message === null ? '' : `  ${visibleLine(event.message)}`}`;
    case 'settings':
      return event.paused ? 'paused' : 'your settings changed';
    case 'prompt':
      return `WAITS FOR YOU until ${localTime(event.expiresAt)}: ${shownCommand(event)}${runOf(event.runId, event.workflow)}. Answer with once, 30_minutes, always, deny or never, such as: outrigger-companion answer ${event.promptId} once${options}`;
    case 'prompt_ended':
      return `${shownCommand(event)}: ${promptOutcomes[event.outcome] ?? event.outcome}`;
    case 'fault':
      return `internal error: ${visibleLine(event.message)}`;
    case 'stopped':
      return `stopped: ${event.reason}`;
  }
}
