import { setTimeout as delay } from 'node:timers/promises';
import { AuditLog } from './audit.ts';
import { backoffMs, spreadPeriod } from './backoff.ts';
import { CompanionError } from './data-folder.ts';
import type { DataFolder, Identity } from './data-folder.ts';
import { Dispatcher } from './dispatcher.ts';
import { appVersion, describeDevice, FactReader } from './facts.ts';
import type { ReceivedCommand } from './hub-answers.ts';
import { HubChannel } from './hub-channel.ts';
import { HubClient } from './hub-client.ts';
import { answerTooLarge, channelLost, HubError } from './hub-error.ts';
import { Journal } from './journal.ts';
import type { FinishedCommand } from './journal.ts';
import { ownDataFolder } from './owner.ts';
import type { RunningStatus } from './owner.ts';
import { ProcessGuard } from './process-guard.ts';
import { newDelivery, ResultSender } from './result-sender.ts';

/** What a running companion tells its owner, a line each. */
export type CompanionEvent =
  | { event: 'connected'; hub: string; by: 'channel' | 'poll' }
  | { event: 'disconnected'; reason: string; retryInSeconds: number }
  | { event: 'command'; type: string; outcome: string; message: string | null }
  | { event: 'settings'; paused: boolean }
  | { event: 'stopped'; reason: string };

export interface CompanionOptions {
  folder: DataFolder;
  identity: Identity;
  /** Aborts to stop: what runs is ended, results are sent. */
  signal: AbortSignal;
  onEvent: (event: CompanionEvent) => void;
  /** False where everything is to go by requests, also where a channel could be had. */
  channel?: boolean;
}

const maxRunning = 4;
/** Commands that a poll or a heartbeat can name. While so many wait for the hub to take their results, no further one is begun. */
const maxHeld = 64;
/** An empty answer that came sooner than this was not waited for, in milliseconds; asking again at once would go round in circles. */
const promptAnswerMs = 1_000;
/** How long to wait for a place before the hub is asked for nothing but withdrawals, in milliseconds. */
const quickCommandMs = 100;
const requestTimeoutMs = 20_000;
/** A poll costs nothing while a channel holds it, in seconds. */
const channelPollSeconds = 600;
const settingsBeatMs = 500;
const stopDeadlineMs = 8_000;
const unpairedExitCode = 3;

const isAbort = (signal: AbortSignal) => signal.aborted;

/**
 * A companion at work: polls its hub, carries commands out, reports results until the hub has them, and lives through lost
 * connections, restarts of the hub and sleep.
 */
export class Companion {
  readonly #options: CompanionOptions;
  readonly #client: HubClient;
  readonly #channel: HubChannel | null;
  readonly #sender: ResultSender;
  readonly #journal: Journal;
  readonly #guard = new ProcessGuard();
  readonly #dispatcher: Dispatcher;
  readonly #facts: FactReader;
  readonly #stopping = new AbortController();
  /** Aborts some time after a stop, which still gives results their chance; giving up is the journal's business, not ours. */
  readonly #givingUp = new AbortController();
  readonly #reports = new Set<Promise<void>>();
  /** Commands that came here and whose results the hub has not confirmed, running or finished; false once the hub wants them no more. */
  readonly #held = new Map<string, boolean>();
  #pace = { pollSeconds: 25, heartbeatSeconds: 15 };
  #connected = false;
  #lastError: string | null = null;
  #fatal: CompanionError | undefined;
  /** Interrupts a poll that was begun without a free place, and so can be handed nothing; never one that could be. */
  #repoll: AbortController | undefined;
  /** Ends the moment that is waited for a free place before such a poll. */
  #placeFreed: (() => void) | undefined;
  /** Commands that one answer may bring: one while answers with more turn out too large to be read. */
  #maxTaken = maxRunning;
  /** Whether this hub knows `runningIsComplete`. */
  #declaresHeld = true;
  /** When the settings were written that are in force. */
  #watched: number | null | undefined;

  constructor(options: CompanionOptions) {
    this.#options = options;
    const { folder, identity } = options;
    this.#channel =
      options.channel === false ? null : new HubChannel(identity.hub, identity.nodeId, identity.deviceSecret);
    this.#client = new HubClient(identity.hub, identity.deviceSecret, this.#channel);
    this.#stopping.signal.addEventListener(
      'abort',
      () => setTimeout(() => this.#givingUp.abort(new Error('the companion stops')), stopDeadlineMs - 1_000).unref(),
      { once: true },
    );
    this.#sender = new ResultSender(this.#client, identity.nodeId);
    this.#journal = new Journal(folder.journal);
    this.#facts = new FactReader(this.#guard);
    this.#dispatcher = new Dispatcher({
      folder,
      journal: this.#journal,
      audit: new AuditLog(folder.audit),
      nodeId: identity.nodeId,
      guard: this.#guard,
      onOutcome: (type, outcome, message) => options.onEvent({ event: 'command', type, outcome, message }),
    });
  }

  get status(): RunningStatus {
    const { hub, nodeId } = this.#options.identity;
    return {
      pid: process.pid,
      connected: this.#connected,
      byChannel: this.#channel?.isOpen ?? false,
      hub,
      nodeId,
      running: this.#dispatcher.running,
      lastError: this.#lastError,
    };
  }

  /**
   * Works until the signal aborts.
   * @throws CompanionError when another companion has the data folder, its journal can't be kept, or the hub revoked this device.
   */
  async run(): Promise<void> {
    const { signal, folder } = this.#options;
    await using _owner = await ownDataFolder(folder, () => this.status);
    this.#journal.open();
    await using _guard = this.#guard;
    await using dispatcher = this.#dispatcher;
    const stop = () => this.#stopping.abort(new Error('the companion stops'));
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    this.#recover();
    const settings = setInterval(() => this.#watchSettings(), settingsBeatMs);
    try {
      await Promise.all([this.#pollForever(), this.#beatForever()]);
    } finally {
      clearInterval(settings);
      dispatcher.endAll('withdrawn', 'The companion was stopped.');
      const deadline = delay(stopDeadlineMs, undefined, { ref: false });
      while (this.#reports.size > 0 && this.#fatal === undefined) {
        if ((await Promise.race([Promise.allSettled(this.#reports).then(() => 'done'), deadline])) !== 'done') break;
      }
      this.#channel?.close();
      this.#journal.close();
    }
    if (this.#fatal !== undefined) throw this.#fatal;
  }

  /** Reports what an earlier process left behind. */
  #recover(): void {
    const { finished, unfinished } = this.#journal.recover();
    for (const result of finished) this.#report(result, true);
    for (const { commandId, type } of unfinished) {
      const message = `The companion was killed while ${type} was under way; look at the machine before you retry.`;
      this.#report({
        commandId,
        result: { status: 'failed', error: { code: 'outcome_unknown', message } },
        artifacts: [],
      });
    }
  }

  async #pollForever(): Promise<void> {
    let failures = 0;
    while (!isAbort(this.#stopping.signal)) {
      try {
        await this.#poll();
        failures = 0;
        this.#maxTaken = maxRunning;
      } catch (error) {
        if (isAbort(this.#stopping.signal)) return;
        if (this.#repoll?.signal.aborted === true) continue;
        if (this.#endIfRevoked(error)) return;
        if (this.#declaresHeld && error instanceof HubError && error.isRefusal) {
          // A hub of an earlier version takes no field that it does not know.
          this.#declaresHeld = false;
          continue;
        }
        if (error instanceof HubError && error.code === answerTooLarge) this.#maxTaken = 1;
        const waitMs = this.#lostConnection(error, failures);
        failures += 1;
        await this.#pause(waitMs);
      }
    }
  }

  async #poll(): Promise<void> {
    const { identity, onEvent } = this.#options;
    if (this.#freePlaces === 0) await this.#waitForPlace();
    await this.#channel?.ensureOpen(this.#stopping.signal);
    const by = this.#channel?.isOpen === true ? 'channel' : 'poll';
    const running = this.#listed;
    const longest = by === 'channel' ? channelPollSeconds : this.#pace.pollSeconds;
    const wait = this.#connected ? Math.ceil(spreadPeriod(longest)) : 0;
    const max = Math.min(this.#freePlaces, this.#maxTaken);
    this.#repoll = max === 0 ? new AbortController() : undefined;
    const startedAt = performance.now();
    const { body } = await this.#client.call(
      'pollAutomationNodeCommands',
      // What runs or waits to be confirmed is all that this device has: the hub may hand out again at once what got lost on its way.
      {
        params: { id: identity.nodeId },
        query: {
          wait,
          max,
          running: running.join(','),
          ...(this.#declaresHeld && running.length < maxHeld ? { runningIsComplete: 'true' as const } : {}),
        },
      },
      {
        signal:
          this.#repoll === undefined
            ? this.#stopping.signal
            : AbortSignal.any([this.#stopping.signal, this.#repoll.signal]),
        timeoutMs: wait * 1000 + requestTimeoutMs,
      },
    );
    if (!this.#connected) {
      this.#connected = true;
      this.#lastError = null;
      onEvent({ event: 'connected', hub: identity.hub, by });
    }
    for (const id of body.withdrawn) this.#withdraw(id);
    for (const command of body.commands) this.#take(command);
    for (const { id, problem } of body.unreadable) {
      const message = `This companion (${appVersion}) can't read the command: ${problem}; update it.`.slice(0, 4000);
      if (!this.#held.has(id))
        this.#report({
          commandId: id,
          result: { status: 'failed', error: { code: 'invalid_input', message } },
          artifacts: [],
        });
    }
    const isEmpty = body.commands.length + body.unreadable.length + body.withdrawn.length === 0;
    if (isEmpty && wait > 0 && performance.now() - startedAt < promptAnswerMs)
      await this.#pause(Math.random() * promptAnswerMs);
  }

  /** Commands whose leases the hub is to keep: those under way, and those whose results are on their way. */
  get #listed(): string[] {
    return [...this.#held]
      .filter(([, isWanted]) => isWanted)
      .map(([id]) => id)
      .slice(0, maxHeld);
  }

  get #freePlaces(): number {
    return Math.max(0, Math.min(maxRunning - this.#dispatcher.running.length, maxHeld - this.#held.size));
  }

  #take(command: ReceivedCommand): void {
    // Handed out again while it runs here or its result is on the way.
    if (this.#held.has(command.id)) return;
    this.#held.set(command.id, true);
    const work = this.#dispatcher.execute(command).then((finished) => {
      this.#listenAgain();
      return this.#sendUntilKnown(finished);
    });
    this.#track(work);
  }

  #withdraw(commandId: string): void {
    this.#dispatcher.withdraw(commandId);
    if (this.#held.has(commandId)) this.#held.set(commandId, false);
  }

  /** Ends a poll that was begun when there was no place for a command, once there is one. */
  #listenAgain(): void {
    if (this.#freePlaces === 0) return;
    this.#repoll?.abort();
    this.#placeFreed?.();
  }

  /** Commands that end at once make place before a poll without one is worth its way. */
  async #waitForPlace(): Promise<void> {
    const over = new AbortController();
    this.#placeFreed = () => over.abort();
    await delay(quickCommandMs, undefined, { signal: AbortSignal.any([over.signal, this.#stopping.signal]) }).catch(
      () => undefined,
    );
    this.#placeFreed = undefined;
  }

  async #beatForever(): Promise<void> {
    while (!isAbort(this.#stopping.signal)) {
      try {
        await this.#beat();
      } catch (error) {
        if (this.#endIfRevoked(error)) return;
        // The poll tells of a lost connection and paces the attempts; a missed beat is made up by the next.
      }
      await this.#pause(spreadPeriod(this.#pace.heartbeatSeconds) * 1000);
    }
  }

  async #beat(): Promise<void> {
    const { identity, folder } = this.#options;
    const { signal } = this.#stopping;
    const settings = folder.readSettings();
    const facts = await this.#facts.read(signal);
    const { body } = await this.#client.call(
      'heartbeatAutomationNode',
      {
        params: { id: identity.nodeId },
        body: {
          facts,
          device: describeDevice(settings, identity.name),
          paused: settings.paused,
          running: this.#listed,
        },
      },
      { signal, timeoutMs: requestTimeoutMs },
    );
    this.#pace = body.hub;
    for (const id of body.withdrawn) this.#withdraw(id);
  }

  #report(finished: FinishedCommand, wasTried = false): void {
    this.#held.set(finished.commandId, true);
    this.#track(this.#sendUntilKnown(finished, wasTried));
  }

  /** Sends a result again and again until the hub itself says that it has it, or does not know the command. */
  async #sendUntilKnown(finished: FinishedCommand, wasTried = false): Promise<void> {
    const giveUp = this.#givingUp;
    const delivery = newDelivery(wasTried);
    let sent = finished;
    let isRefused = false;
    for (let failures = 0; !isAbort(giveUp.signal); failures += 1) {
      try {
        await this.#sender.send(sent, delivery, giveUp.signal, () => {
          failures = 0;
        });
        break;
      } catch (error) {
        if (isAbort(giveUp.signal) || this.#endIfRevoked(error)) return;
        const known = error instanceof HubError ? error : undefined;
        if ((error as NodeJS.ErrnoException).code === 'ENOENT' && sent.artifacts.length > 0) {
          const message = 'What the command brought is gone from the data folder of the companion; run it again.';
          sent = { ...finished, result: { status: 'failed', error: { code: 'failed', message } }, artifacts: [] };
          continue;
        }
        if (known?.saysUnknown(finished.commandId) === true || (known?.isRefusal === true && isRefused)) {
          this.#lastError = `The hub refused a result: ${known.message}`;
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
        await delay(backoffMs(error, failures), undefined, { signal: giveUp.signal }).catch(() => undefined);
      }
    }
    if (isAbort(giveUp.signal)) return;
    this.#journal.confirm(finished.commandId);
    this.#held.delete(finished.commandId);
    this.#listenAgain();
  }

  /** What the owner changes takes effect now, not with the next command. */
  #watchSettings(): void {
    const stamp = this.#options.folder.settingsStamp();
    if (stamp === this.#watched) return;
    const isFirst = this.#watched === undefined;
    this.#watched = stamp;
    if (isFirst) return;
    let paused = true;
    try {
      const read = this.#options.folder.readSettings();
      ({ paused } = read);
      this.#track(this.#dispatcher.applySettings(read));
    } catch (error) {
      this.#lastError = (error as Error).message;
    }
    if (paused) this.#dispatcher.endAll('paused', 'The owner of this machine paused the companion.');
    this.#options.onEvent({ event: 'settings', paused });
    this.#track(this.#beat().catch(() => undefined));
  }

  #endIfRevoked(error: unknown): boolean {
    if (!(error instanceof HubError) || !error.isRevocation) return false;
    this.#fatal ??= new CompanionError(
      `The hub does not know this machine any more (${error.message}) Pair it again with: outrigger-companion pair CODE --hub ${this.#options.identity.hub}`,
      { exitCode: unpairedExitCode },
    );
    this.#stopping.abort(this.#fatal);
    return true;
  }

  /** Tells of a lost connection; answers how long to wait before the next attempt, in milliseconds. */
  #lostConnection(error: unknown, failures: number): number {
    const { onEvent } = this.#options;
    const waitMs = backoffMs(error, failures);
    const reason = (error as Error).message;
    if (this.#connected || reason !== this.#lastError)
      onEvent({ event: 'disconnected', reason, retryInSeconds: Math.round(waitMs / 100) / 10 });
    this.#connected = false;
    this.#lastError = reason;
    // Another hub may answer next; one that only lost our channel is the same.
    if (!(error instanceof HubError) || error.code !== channelLost) this.#channel?.forgetHub();
    this.#declaresHeld = true;
    this.#sender.forgetHub();
    return waitMs;
  }

  async #pause(milliseconds: number): Promise<void> {
    await delay(milliseconds, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
  }

  #track(work: Promise<void>): void {
    const tracked: Promise<void> = work.finally(() => this.#reports.delete(tracked));
    this.#reports.add(tracked);
  }
}
