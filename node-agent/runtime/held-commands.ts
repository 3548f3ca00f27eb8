import { setTimeout as delay } from 'node:timers/promises';
import { backoffMs } from './backoff.ts';
import { HubError } from './hub-error.ts';
import type { FinishedCommand, Journal } from './journal.ts';
import { newDelivery } from './result-sender.ts';
import type { ResultSender } from './result-sender.ts';

/** Commands that a poll or a heartbeat can name. While so many wait for the hub to take their results, no further one is begun. */
export const maxHeld = 64;

export interface HeldCommandsDependencies {
  sender: ResultSender;
  journal: Journal;
  /** Ends all attempts; what was not confirmed is in the journal. */
  givingUp: AbortSignal;
  /** Whether an error means that the hub does not know this device any more. */
  endIfRevoked: (error: unknown) => boolean;
  /** Hears of a result that the hub refused. */
  onRefused: (message: string) => void;
}

/** Commands that came here, running or finished, until the hub confirmed their results. */
export class HeldCommands {
  readonly #deps: HeldCommandsDependencies;
  /** False once the hub wants it no more. */
  readonly #held = new Map<string, boolean>();

  constructor(dependencies: HeldCommandsDependencies) {
    this.#deps = dependencies;
  }

  get size(): number {
    return this.#held.size;
  }

  /** Those whose leases the hub is to keep: under way, and those whose results are on their way. */
  get wanted(): string[] {
    return [...this.#held]
      .filter(([, isWanted]) => isWanted)
      .map(([id]) => id)
      .slice(0, maxHeld);
  }

  has(commandId: string): boolean {
    return this.#held.has(commandId);
  }

  hold(commandId: string): void {
    this.#held.set(commandId, true);
  }

  /** The hub wants a command no more. */
  withdraw(commandId: string): void {
    if (this.#held.has(commandId)) this.#held.set(commandId, false);
  }

  /** Sends a result again and again until the hub itself says that it has it, or does not know the command. */
  async report(finished: FinishedCommand, wasTried = false): Promise<void> {
    const { sender, journal, givingUp, endIfRevoked, onRefused } = this.#deps;
    if (!this.#held.has(finished.commandId)) this.hold(finished.commandId);
    const delivery = newDelivery(wasTried);
    let sent = finished;
    let isRefused = false;
    for (let failures = 0; !givingUp.aborted; failures += 1) {
      try {
        await sender.send(sent, delivery, givingUp, () => {
          failures = 0;
        });
        break;
      } catch (error) {
        if (isAborted(givingUp) || endIfRevoked(error)) return;
        const known = error instanceof HubError ? error : undefined;
        if ((error as NodeJS.ErrnoException).code === 'ENOENT' && sent.artifacts.length > 0) {
          const message = 'What the command brought is gone from the data folder of the companion; run it again.';
          sent = { ...finished, result: { status: 'failed', error: { code: 'failed', message } }, artifacts: [] };
          continue;
        }
        if (known?.saysUnknown(finished.commandId) === true || (known?.isRefusal === true && isRefused)) {
          onRefused(known.message);
          break;
        }
        if (known?.isRefusal === true) {
          // The run must not wait for an answer that the hub can't take.
          const message = `The hub could not take the result: ${known.message}`.slice(0, 4000);
          sent = {
            ...finished,
            result: {
              status: 'failed',
              error: { code: known.code === 'payload_too_large' ? 'too_large' : 'failed', message },
            },
            artifacts: [],
          };
          isRefused = true;
          continue;
        }
        await delay(backoffMs(error, failures), undefined, { signal: givingUp }).catch(() => undefined);
      }
    }
    if (isAborted(givingUp)) return;
    journal.confirm(finished.commandId);
    this.#held.delete(finished.commandId);
  }
}

/** Asked anew, for what the compiler takes for settled. */
const isAborted = (signal: AbortSignal) => signal.aborted;
