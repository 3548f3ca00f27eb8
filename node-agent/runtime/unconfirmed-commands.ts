import { setTimeout as delay } from 'node:timers/promises';
import { backoffMs } from './backoff.ts';
import type { CommandError } from './commands/handler.ts';
import type { RunningCommand } from './dispatcher.ts';
import { HubError } from './hub-error.ts';
import type { FinishedCommand, Journal } from './journal.ts';
import { newDelivery } from './result-sender.ts';
import type { ResultSender } from './result-sender.ts';

/** Commands that a poll or a heartbeat can name. While so many wait for the hub to take their results, no further one is begun. */
export const maxUnconfirmed = 64;

export interface UnconfirmedCommandsDependencies {
  sender: ResultSender;
  journal: Journal;
  /** Ends all attempts; what was not confirmed is in the journal. */
  givingUp: AbortSignal;
  /** Whether an error means that the hub does not know this device any more. */
  endIfRevoked: (error: unknown) => boolean;
  /** Hears of a result that the hub refused. */
  onRefused: (message: string) => void;
  /** Why the owner's settings do not let a result go to the hub any more, or null. */
  denialOf: (finished: FinishedCommand) => Promise<CommandError | null>;
  /** Called when a result is not sent for that reason. */
  onWithheld: (finished: FinishedCommand, reason: CommandError) => void;
}

/** A result on its way to the hub. */
interface Sending {
  finished: FinishedCommand;
  since: string;
  /** Aborts when the owner's settings do not allow the result any more. */
  withheld: AbortController;
}

/** Commands that came here, running or finished, until the hub confirmed their results. */
export class UnconfirmedCommands {
  readonly #deps: UnconfirmedCommandsDependencies;
  /** False once the hub wants it no more. */
  readonly #held = new Map<string, boolean>();
  readonly #sending = new Map<string, Sending>();

  constructor(dependencies: UnconfirmedCommandsDependencies) {
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
      .slice(0, maxUnconfirmed);
  }

  /** Commands whose artefacts are on their way to the hub, as the owner sees them. */
  get sending(): RunningCommand[] {
    return [...this.#sending.values()]
      .filter(({ finished, withheld }) => finished.artifacts.length > 0 && !withheld.signal.aborted)
      .map(({ finished: { commandId: id, source }, since }) => ({
        id,
        type: source?.type ?? 'result',
        summary: `${source?.line.summary ?? ''} (its result is on the way to the hub)`.trim(),
        startedAt: since,
      }));
  }

  /** Ends uploads that the owner's settings do not allow any more. */
  async recheck(): Promise<void> {
    await Promise.all([...this.#sending.values()].map((sending) => this.#check(sending)));
  }

  async #check({ finished, withheld }: Sending): Promise<void> {
    const denied = await this.#deps.denialOf(finished);
    if (denied !== null) withheld.abort(denied);
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
    if (!this.#held.has(finished.commandId)) this.hold(finished.commandId);
    const sending: Sending = { finished, since: new Date().toISOString(), withheld: new AbortController() };
    this.#sending.set(finished.commandId, sending);
    try {
      await this.#report(sending, wasTried);
    } finally {
      this.#sending.delete(finished.commandId);
    }
  }

  async #report(sending: Sending, wasTried: boolean): Promise<void> {
    const { sender, journal, givingUp, endIfRevoked, onRefused, onWithheld } = this.#deps;
    const { finished, withheld } = sending;
    const delivery = newDelivery(wasTried);
    let sent = finished;
    let isRefused = false;
    await this.#check(sending);
    for (let failures = 0; !givingUp.aborted; failures += 1) {
      if (isAborted(withheld.signal) && sent.result.status === 'succeeded') {
        const reason = withheld.signal.reason as CommandError;
        sent = failedWith(finished, reason.code, reason.message);
        journal.withhold(sent);
        onWithheld(sent, reason);
      }
      try {
        const isSuccess = sent.result.status === 'succeeded';
        const signals = { signal: givingUp, withheld: isSuccess ? withheld.signal : givingUp };
        await sender.send(sent, delivery, signals, () => {
          failures = 0;
        });
        break;
      } catch (error) {
        if (isAborted(givingUp) || endIfRevoked(error)) return;
        if (isAborted(withheld.signal) && sent.result.status === 'succeeded') continue;
        const known = error instanceof HubError ? error : undefined;
        if ((error as NodeJS.ErrnoException).code === 'ENOENT' && sent.artifacts.length > 0) {
          const message = 'What the command brought is gone from the data folder of the companion; run it again.';
          sent = failedWith(finished, 'failed', message);
          continue;
        }
        if (known?.isUnknownCommand(finished.commandId) === true || (known?.isRefusal === true && isRefused)) {
          onRefused(known.message);
          break;
        }
        if (known?.isRefusal === true) {
          // The run must not wait for an answer that the hub can't take.
          const message = `The hub could not take the result: ${known.message}`;
          sent = failedWith(finished, known.code === 'payload_too_large' ? 'too_large' : 'failed', message);
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

/** A result in place of one that is not sent. */
const failedWith = (finished: FinishedCommand, code: string, message: string): FinishedCommand => ({
  ...finished,
  result: { status: 'failed', error: { code, message: message.slice(0, 4000) } },
  artifacts: [],
});
