import { setTimeout as delay } from 'node:timers/promises';
import { backoffMs } from './backoff.ts';
import type { CommandError } from './commands/handler.ts';
import type { RunningCommand } from './dispatcher.ts';
import { HubError } from './hub-error.ts';
import type { FinishedCommand, Journal } from './journal.ts';
import { NotAFileError } from './own-file.ts';
import { newDelivery } from './result-sender.ts';
import type { ResultSender } from './result-sender.ts';

/** Commands that a poll or heartbeat can name. While so many results are unconfirmed, no further command is started. */
export const maxUnconfirmed = 64;

export interface UnconfirmedCommandsDependencies {
  sender: ResultSender;
  journal: Journal;
  /** Ends all attempts. Unconfirmed results stay in the journal. */
  givingUp: AbortSignal;
  /** Whether an error means that the hub does not know this device any more. */
  endIfRevoked: (error: unknown) => boolean;
  /** Called when the hub refused a result. */
  onRefused: (message: string) => void;
  /** Why the owner's settings no longer let a result be sent to the hub, or null. */
  denialOf: (finished: FinishedCommand) => Promise<CommandError | null>;
  /** Called when a result is not sent because of the owner's settings. */
  onWithheld: (finished: FinishedCommand, reason: CommandError) => void;
}

/** A result that is being sent to the hub. */
interface Sending {
  finished: FinishedCommand;
  since: string;
  /** Aborts when the owner's settings no longer allow the result. */
  withheld: AbortController;
}

/** The received commands, running or finished, until the hub confirms their results. */
export class UnconfirmedCommands {
  readonly #deps: UnconfirmedCommandsDependencies;
  /** By command ID; false after the hub withdrew the command. */
  readonly #isWanted = new Map<string, boolean>();
  readonly #sending = new Map<string, Sending>();

  constructor(dependencies: UnconfirmedCommandsDependencies) {
    this.#deps = dependencies;
  }

  get size(): number {
    return this.#isWanted.size;
  }

  /** Commands whose leases the hub should renew: running ones, and those whose results are being sent. */
  get wanted(): string[] {
    return [...this.#isWanted]
      .filter(([, isWanted]) => isWanted)
      .map(([id]) => id)
      .slice(0, maxUnconfirmed);
  }

  /** Commands whose artifacts are being sent to the hub, for the owner's view. */
  get sending(): RunningCommand[] {
    return [...this.#sending.values()]
      .filter(({ finished, withheld }) => finished.artifacts.length > 0 && !withheld.signal.aborted)
      .map(({ finished: { commandId: id, source }, since }) => ({
        id,
        type: source?.type ?? 'result',
        summary: `${source?.line.summary ?? ''} (its result is being sent to the hub)`.trim(),
        startedAt: since,
      }));
  }

  /** Ends uploads that the owner's settings no longer allow. */
  async recheck(): Promise<void> {
    await Promise.all([...this.#sending.values()].map((sending) => this.#check(sending)));
  }

  async #check({ finished, withheld }: Sending): Promise<void> {
    const denied = await this.#deps.denialOf(finished);
    if (denied !== null) withheld.abort(denied);
  }

  has(commandId: string): boolean {
    return this.#isWanted.has(commandId);
  }

  add(commandId: string): void {
    this.#isWanted.set(commandId, true);
  }

  /** Records that the hub withdrew a command. */
  withdraw(commandId: string): void {
    if (this.#isWanted.has(commandId)) this.#isWanted.set(commandId, false);
  }

  /** Sends a result until the hub confirms it or does not know the command. */
  async report(finished: FinishedCommand, wasTried = false): Promise<void> {
    if (!this.#isWanted.has(finished.commandId)) this.add(finished.commandId);
    const sending: Sending = { finished, since: new Date().toISOString(), withheld: new AbortController() };
    this.#sending.set(finished.commandId, sending);
    try {
      await this.#report(sending, wasTried);
    } finally {
      this.#sending.delete(finished.commandId);
      this.#isWanted.delete(finished.commandId);
    }
  }

  async #report(sending: Sending, wasTried: boolean): Promise<void> {
    const { sender, journal, givingUp, endIfRevoked, onRefused, onWithheld } = this.#deps;
    const { finished, withheld } = sending;
    const delivery = newDelivery(wasTried);
    let sent = finished;
    let isRefused = false;
    // On a full disk, a replacing result is sent from memory, and written as soon as the disk has space.
    let isWritten = true;
    await this.#check(sending);
    for (let failures = 0; !givingUp.aborted; failures += 1) {
      if (isAborted(withheld.signal) && sent.result.status === 'succeeded') {
        const reason = withheld.signal.reason as CommandError;
        sent = failedWith(finished, reason.code, reason.message);
        isWritten = journal.withhold(finished, sent);
        onWithheld(sent, reason);
      } else if (!isWritten) isWritten = journal.withhold(finished, sent);
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
        const hubError = error instanceof HubError ? error : undefined;
        const isLost = error instanceof NotAFileError || (error as NodeJS.ErrnoException).code === 'ENOENT';
        if (isLost && sent.artifacts.length > 0) {
          const acted = finished.source?.acts === true;
          const advice = acted ? 'look at the machine before you retry' : 'run it again';
          const message = `The artifacts of the command are missing in the data folder of the companion; ${advice}.`;
          sent = failedWith(finished, acted ? 'interrupted' : 'failed', message);
          continue;
        }
        if (hubError?.isUnknownCommand(finished.commandId) === true || (hubError?.isRefusal === true && isRefused)) {
          onRefused(hubError.message);
          break;
        }
        if (hubError?.isRefusal === true) {
          // The run must not wait for a result that the hub cannot accept.
          const message = `The hub could not take the result: ${hubError.message}`;
          sent = failedWith(finished, hubError.code === 'payload_too_large' ? 'too_large' : 'failed', message);
          isRefused = true;
          continue;
        }
        await delay(backoffMs(error, failures), undefined, { signal: givingUp }).catch(() => undefined);
      }
    }
    if (isAborted(givingUp)) return;
    journal.confirm(finished.commandId);
  }
}

/** A function call, because the compiler assumes that `signal.aborted` does not change. */
const isAborted = (signal: AbortSignal) => signal.aborted;

/** A failed result that replaces one that is not sent. */
const failedWith = (finished: FinishedCommand, code: string, message: string): FinishedCommand => ({
  ...finished,
  result: { status: 'failed', error: { code, message: message.slice(0, 4000) } },
  artifacts: [],
});
