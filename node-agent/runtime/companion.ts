import { setTimeout as delay } from 'node:timers/promises';
import { removeExpiredPermissions, nextExpiry } from '../../shared/companion/settings.ts';
import { AuditLog } from './audit.ts';
import type { AuditLine } from './audit.ts';
import { spreadPeriod } from './backoff.ts';
import type { BrowserSession } from './commands/browser/session.ts';
import { CommandError } from './commands/handler.ts';
import type { DataFolder, Identity } from './data-folder.ts';
import { Dispatcher } from './dispatcher.ts';
import type { RunningCommand } from './dispatcher.ts';
import type { CompanionEvent } from './event-log.ts';
import { appVersion, describeDevice, FactReader } from './facts.ts';
import type { HostPort } from './host-port.ts';
import type { ReceivedCommand } from './hub-answers.ts';
import { HubConnection } from './hub-connection.ts';
import { answerTooLarge, HubError } from './hub-error.ts';
import { Journal } from './journal.ts';
import type { FinishedCommand } from './journal.ts';
import { recordSettingsHash } from './owner-changes.ts';
import { ProcessGuard } from './process-guard.ts';
import type { Prompts } from './prompts.ts';
import { resultDenial } from './result-denial.ts';
import type { PictureKeeper } from './sent-pictures.ts';
import { UnconfirmedCommands, maxUnconfirmed } from './unconfirmed-commands.ts';

export interface CompanionOptions {
  folder: DataFolder;
  identity: Identity;
  /** Aborts to stop: what runs is ended, results are sent. */
  signal: AbortSignal;
  onEvent: (event: CompanionEvent) => void;
  /** Hears of each command that is over. */
  onCommand?: (line: AuditLine) => void;
  /** Hears that something of `view` changed. */
  onChange?: () => void;
  prompts?: Prompts;
  pictures?: PictureKeeper;
  /** The owner's log, where others write into it as well. */
  audit?: AuditLog;
  /** The app around this runtime. */
  host?: HostPort | null;
  /** The one browser of the data folder's profile; a session of its own when left out. */
  browser?: BrowserSession;
  /** False where everything is to go by requests, also where a channel could be had. */
  channel?: boolean;
}

const maxRunning = 4;
/** Runs that one heartbeat may name: as many as pages may be open. */
const maxBrowserRuns = 100;
/** An empty answer that came sooner than this was not waited for, in milliseconds; asking again at once would go round in circles. */
const immediateAnswerMs = 1_000;
/** How long to wait for a place before the hub is asked for nothing but withdrawals, in milliseconds. */
const slotWaitMs = 100;
const requestTimeoutMs = 20_000;
/** A poll costs nothing while a channel holds it, in seconds. */
const channelPollSeconds = 600;
const settingsCheckMs = 250;
const stopDeadlineMs = 8_000;

const isAbort = (signal: AbortSignal) => signal.aborted;

/** What the hub lets workflows do with this machine, as far as it said. */
export interface HubSwitches {
  system?: boolean;
  browser?: boolean;
}

/** What its owner sees of a companion at work. */
export interface CompanionView {
  isUp: boolean;
  by: 'channel' | 'poll';
  lastError: string | null;
  running: RunningCommand[];
  hubAllows: HubSwitches;
}

/**
 * A companion at work: polls its hub, carries commands out, reports results until the hub has them, and lives through lost
 * connections, restarts of the hub and sleep.
 */
export class Companion {
  readonly #options: CompanionOptions;
  readonly #connection: HubConnection;
  readonly #journal: Journal;
  readonly #audit: AuditLog;
  readonly #guard = new ProcessGuard();
  readonly #dispatcher: Dispatcher;
  readonly #facts: FactReader;
  readonly #stopping = new AbortController();
  /** Aborts some time after a stop, which still gives results their chance; giving up is the journal's business, not ours. */
  readonly #givingUp = new AbortController();
  readonly #reports = new Set<Promise<void>>();
  readonly #unconfirmed: UnconfirmedCommands;
  #pace = { pollSeconds: 25, heartbeatSeconds: 15 };
  /** Interrupts a poll that was begun without a free place, and so can be handed nothing; never one that could be. */
  #fullPoll: AbortController | undefined;
  /** Ends the moment that is waited for a free place before such a poll. */
  #onSlotFreed: (() => void) | undefined;
  /** Commands that one answer may bring: one while answers with more turn out too large to be read. */
  #maxPerPoll = maxRunning;
  /** Whether this hub knows `runningIsComplete`. */
  #sendsRunningIsComplete = true;
  /** When the settings were written that are in force. */
  #settingsStamp: string | null | undefined;
  /** Whether they could not be read at the last look. */
  #isUnreadable = false;
  /** When something of them ends by itself, in milliseconds since 1970. */
  #nextExpiry: number | null = null;
  /** Whether the log was compared with what the hub knows of it. */
  #isAnchored = false;
  /**
   * Whether the log was compared with the hub's record and then reported. Before, no command is requested: the log that proves the settings may have been cut, and
   * a first program could remove a log that the hub has no record of.
   */
  #isLogChecked = false;
  #checkingLog: Promise<void> | undefined;
  /** The hub's own switches, once it said them. */
  #hubAllows: HubSwitches = {};

  constructor(options: CompanionOptions) {
    this.#options = options;
    const { folder, identity } = options;
    this.#connection = new HubConnection({
      identity,
      channel: options.channel !== false,
      onEvent: (event) => {
        options.onEvent(event);
        options.onChange?.();
      },
      onRevoked: (error) => this.#stopping.abort(error),
    });
    this.#stopping.signal.addEventListener(
      'abort',
      () => setTimeout(() => this.#givingUp.abort(new Error('the companion stops')), stopDeadlineMs - 1_000).unref(),
      { once: true },
    );
    this.#journal = new Journal(folder.journal);
    this.#audit = options.audit ?? new AuditLog(folder.audit);
    this.#unconfirmed = new UnconfirmedCommands({
      sender: this.#connection.sender,
      journal: this.#journal,
      givingUp: this.#givingUp.signal,
      endIfRevoked: (error) => this.#connection.endIfRevoked(error),
      onRefused: (message) => {
        this.#connection.lastError = `The hub refused a result: ${message}`;
      },
      denialOf: async (finished) => {
        try {
          return await resultDenial(finished, folder.settingsInForce());
        } catch (error) {
          return new CommandError('interrupted', (error as Error).message, { cause: error, reason: 'owner_denied' });
        }
      },
      onWithheld: (finished, reason) => this.#noteWithheld(finished, reason),
    });
    this.#facts = new FactReader(this.#guard);
    this.#dispatcher = new Dispatcher({
      folder,
      journal: this.#journal,
      audit: this.#audit,
      nodeId: identity.nodeId,
      guard: this.#guard,
      host: options.host ?? null,
      browser: options.browser,
      prompts: options.prompts,
      pictures: options.pictures,
      readArtifact: (commandId, artifactId, limits) =>
        this.#connection.client.readArtifact(identity.nodeId, commandId, artifactId, limits),
      // Without an answer of the hub the command fails as it would have.
      onBrowserFull: () => this.#heartbeat().catch(() => undefined),
      onChange: () => options.onChange?.(),
      onOutcome: (line) => {
        options.onEvent({ event: 'command', type: line.type, outcome: line.outcome, message: line.message });
        options.onCommand?.(line);
      },
    });
  }

  get view(): CompanionView {
    const { isUp, by, lastError } = this.#connection;
    const running = [...this.#dispatcher.running, ...this.#unconfirmed.sending];
    return { isUp, by, lastError, running, hubAllows: this.#hubAllows };
  }

  /**
   * Works until the signal aborts. The data folder must be this process's alone.
   * @throws CompanionError when its journal can't be kept, or the hub revoked this device.
   */
  async run(): Promise<void> {
    const { signal } = this.#options;
    this.#journal.open();
    await using _guard = this.#guard;
    await using dispatcher = this.#dispatcher;
    // With the poll that is given up the channel ends, so that no command comes for it any more.
    this.#stopping.signal.addEventListener('abort', () => this.#connection.closeChannel(), { once: true });
    const stop = () => this.#stopping.abort(new Error('the companion stops'));
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    // Every later change is compared with this first look.
    this.#watchSettings();
    this.#recover();
    const settings = setInterval(() => this.#watchSettings(), settingsCheckMs);
    try {
      await Promise.all([this.#pollForever(), this.#heartbeatForever()]);
    } finally {
      clearInterval(settings);
      dispatcher.endAll('withdrawn', 'The companion was stopped.', 'companion_stopped');
      const deadline = delay(stopDeadlineMs, undefined, { ref: false });
      // Whoever revoked this machine meanwhile, its owner reads what was done on it.
      await Promise.race([dispatcher.idle(), deadline]);
      while (this.#reports.size > 0 && this.#connection.revocation === undefined) {
        if ((await Promise.race([Promise.allSettled(this.#reports).then(() => 'done'), deadline])) !== 'done') break;
      }
      this.#connection.closeChannel();
      this.#journal.close();
    }
    if (this.#connection.revocation !== undefined) throw this.#connection.revocation;
  }

  /** Reports what an earlier process left behind. */
  #recover(): void {
    const { finished, unfinished } = this.#journal.recover();
    for (const result of finished) this.#report(result, true);
    for (const { commandId, type, began, since, facts } of unfinished) {
      const at = since === null ? '' : ` It began at ${since}.`;
      const [code, message] = began
        ? [
            'outcome_unknown',
            `The companion was killed while ${type} was under way; look at the machine before you retry.${at}`,
          ]
        : [
            'not_begun',
            `The companion was stopped while ${type} waited for the owner of this machine; nothing was done. Run it again.`,
          ];
      this.#audit.appendLater({
        time: new Date().toISOString(),
        commandId,
        type,
        phase: 'ended',
        ...facts,
        outcome: code,
        message,
        durationMs: began && since !== null ? Math.max(0, Date.now() - Date.parse(since)) : 0,
        began,
      });
      this.#report({ commandId, result: { status: 'failed', error: { code, message } }, artifacts: [] });
    }
  }

  async #pollForever(): Promise<void> {
    let failures = 0;
    while (!isAbort(this.#stopping.signal)) {
      try {
        await this.#poll();
        failures = 0;
        this.#maxPerPoll = maxRunning;
      } catch (error) {
        if (isAbort(this.#stopping.signal)) return;
        if (this.#fullPoll?.signal.aborted === true) continue;
        if (this.#connection.endIfRevoked(error)) return;
        if (this.#sendsRunningIsComplete && error instanceof HubError && error.isRefusal) {
          // A hub of an earlier version takes no field that it does not know.
          this.#sendsRunningIsComplete = false;
          continue;
        }
        if (error instanceof HubError && error.code === answerTooLarge) this.#maxPerPoll = 1;
        const waitMs = this.#connection.markLost(error, failures);
        // Another hub may answer next.
        this.#sendsRunningIsComplete = true;
        failures += 1;
        await this.#pause(waitMs);
      }
    }
  }

  async #poll(): Promise<void> {
    const { identity } = this.#options;
    if (this.#freeSlots === 0) await this.#waitForSlot();
    await this.#connection.ensureChannel(this.#stopping.signal);
    const { by } = this.#connection;
    if (!this.#isLogChecked) await this.#checkLog();
    const running = this.#unconfirmed.wanted;
    const longest = by === 'channel' ? channelPollSeconds : this.#pace.pollSeconds;
    // That a channel could be opened says that the hub is there.
    if (by === 'channel') this.#connection.markConnected(by);
    const wait = this.#connection.isUp ? Math.ceil(spreadPeriod(longest)) : 0;
    const max = Math.min(this.#freeSlots, this.#maxPerPoll);
    this.#fullPoll = max === 0 ? new AbortController() : undefined;
    const startedAt = performance.now();
    const { body } = await this.#connection.client.call(
      'pollAutomationNodeCommands',
      // What runs or waits to be confirmed is all that this device has: the hub may hand out again at once what got lost on its way.
      {
        params: { id: identity.nodeId },
        query: {
          wait,
          max,
          running: running.join(','),
          ...(this.#sendsRunningIsComplete && running.length < maxUnconfirmed
            ? { runningIsComplete: 'true' as const }
            : {}),
        },
      },
      {
        signal:
          this.#fullPoll === undefined
            ? this.#stopping.signal
            : AbortSignal.any([this.#stopping.signal, this.#fullPoll.signal]),
        timeoutMs: wait * 1000 + requestTimeoutMs,
      },
    );
    this.#connection.markConnected(by);
    for (const id of body.withdrawn) this.#withdraw(id);
    // A hub that sends more than it was asked for has it handed out again.
    for (const command of body.commands.slice(0, max)) this.#accept(command);
    for (const { id, problem } of body.unreadable.slice(0, maxRunning)) {
      const message = `This companion (${appVersion}) can't read the command: ${problem}; update it.`.slice(0, 4000);
      if (!this.#unconfirmed.has(id))
        this.#report({
          commandId: id,
          result: { status: 'failed', error: { code: 'invalid_input', message } },
          artifacts: [],
        });
    }
    const isEmpty = body.commands.length + body.unreadable.length + body.withdrawn.length === 0;
    if (isEmpty && wait > 0 && performance.now() - startedAt < immediateAnswerMs)
      await this.#pause(Math.random() * immediateAnswerMs);
  }

  get #freeSlots(): number {
    const active = this.#dispatcher.running.length - (this.#options.prompts?.waiting.length ?? 0);
    return Math.max(0, Math.min(maxRunning - active, maxUnconfirmed - this.#unconfirmed.size));
  }

  #accept(command: ReceivedCommand): void {
    // Handed out again while it runs here or its result is on the way.
    if (this.#unconfirmed.has(command.id)) return;
    this.#unconfirmed.hold(command.id);
    const work = this.#dispatcher.execute(command).then((finished) => {
      this.#endFullPoll();
      return this.#sendUntilConfirmed(finished);
    });
    this.#track(work);
  }

  #withdraw(commandId: string): void {
    this.#dispatcher.withdraw(commandId);
    this.#unconfirmed.withdraw(commandId);
  }

  /** Ends a poll that was begun when there was no place for a command, once there is one. */
  #endFullPoll(): void {
    if (this.#freeSlots === 0) return;
    this.#fullPoll?.abort();
    this.#onSlotFreed?.();
  }

  /** Commands that end at once make place before a poll without one is worth its way. */
  async #waitForSlot(): Promise<void> {
    const freed = new AbortController();
    this.#onSlotFreed = () => freed.abort();
    await delay(slotWaitMs, undefined, { signal: AbortSignal.any([freed.signal, this.#stopping.signal]) }).catch(
      () => undefined,
    );
    this.#onSlotFreed = undefined;
  }

  async #heartbeatForever(): Promise<void> {
    while (!isAbort(this.#stopping.signal)) {
      try {
        await (this.#isLogChecked ? this.#heartbeat() : this.#checkLog());
      } catch (error) {
        if (this.#connection.endIfRevoked(error)) return;
        // The poll tells of a lost connection and paces the attempts; a missed beat is made up by the next.
      }
      await this.#pause(spreadPeriod(this.#pace.heartbeatSeconds) * 1000);
    }
  }

  /** Compares the log with the hub's record, then reports the log. The first heartbeat brings the record. */
  #checkLog(): Promise<void> {
    const heartbeat = () =>
      this.#heartbeat().catch((error: unknown) => {
        // A hub of an earlier version refuses fields that it does not know.
        if (!(error instanceof HubError) || !error.isRefusal) throw error;
        return this.#heartbeat(true);
      });
    this.#checkingLog ??= heartbeat()
      .then(() => (this.#isLogChecked ? undefined : heartbeat()))
      .finally(() => {
        this.#checkingLog = undefined;
      });
    return this.#checkingLog;
  }

  /** @param isShort Whether only the fields are sent that every version of a hub knows. */
  async #heartbeat(isShort = false): Promise<void> {
    const { identity, folder } = this.#options;
    const { signal } = this.#stopping;
    const settings = folder.settingsInForce();
    this.#audit.look();
    const reportsLog = this.#isAnchored;
    const facts = await this.#facts.read(signal);
    const { body } = await this.#connection.client.call(
      'heartbeatAutomationNode',
      {
        params: { id: identity.nodeId },
        body: {
          paused: settings.paused,
          // Only once it is known what the hub had of it: a log that was cut is not reported as whole.
          ...(reportsLog ? { audit: { ...this.#audit.head, isBroken: this.#audit.problem !== null } } : {}),
          running: this.#unconfirmed.wanted,
          ...(isShort
            ? {}
            : {
                facts,
                device: describeDevice(settings, identity.name, this.#options.host?.offer.captures),
                // An earlier hub ignores the field, and its pages belong to no run.
                browserRuns: this.#dispatcher.browserRuns.slice(0, maxBrowserRuns),
              }),
        },
      },
      { signal, timeoutMs: requestTimeoutMs },
    );
    this.#pace = body.hub;
    if (!this.#isAnchored && body.audit !== undefined) {
      const wasTrusted = this.#audit.problem === null;
      this.#audit.anchor(body.audit);
      this.#isAnchored = true;
      if (wasTrusted && this.#audit.problem !== null) folder.settingsStore?.distrust();
    }
    // A hub of an earlier version keeps no record of the log.
    if (reportsLog || body.audit === undefined) this.#isLogChecked = true;
    this.#hubAllows = { system: body.allowSystem, browser: body.allowBrowser };
    this.#options.onChange?.();
    for (const id of body.withdrawn) this.#withdraw(id);
    await this.#dispatcher.endRuns(body.endedRuns);
  }

  #report(finished: FinishedCommand, wasTried = false): void {
    this.#unconfirmed.hold(finished.commandId);
    this.#track(this.#sendUntilConfirmed(finished, wasTried));
  }

  /** Records that the owner's settings kept a result from the hub; the log has the command itself as a success. */
  #noteWithheld({ commandId, source }: FinishedCommand, { code, message, reason }: CommandError): void {
    if (source === undefined) return;
    const { type, line: facts } = source;
    const line: AuditLine = {
      ...facts,
      time: new Date().toISOString(),
      commandId,
      type,
      phase: 'ended',
      outcome: code,
      message,
      reason,
      durationMs: 0,
      began: true,
    };
    this.#audit.appendLater(line);
    this.#options.onEvent({ event: 'command', type, outcome: code, message });
    this.#options.onCommand?.(line);
  }

  async #sendUntilConfirmed(finished: FinishedCommand, wasTried = false): Promise<void> {
    const sent = this.#unconfirmed.report(finished, wasTried);
    if (finished.artifacts.length > 0) this.#options.onChange?.();
    await sent;
    if (finished.artifacts.length > 0) this.#options.onChange?.();
    this.#endFullPoll();
  }

  /** What the owner changed takes effect now, not with the next look at the file. */
  settingsChanged(): void {
    this.#watchSettings(true);
  }

  /** A command that waits for its owner leaves its place to others. */
  promptsChanged(): void {
    this.#endFullPoll();
  }

  #watchSettings(isOwnChange = false): void {
    const { folder } = this.#options;
    this.#writePending();
    const stamp = folder.stampOf('settings.json');
    const isExpired = this.#nextExpiry !== null && folder.now() >= this.#nextExpiry;
    if (isExpired && folder.settingsStore !== undefined) this.#track(this.#removeExpiredPermissions());
    if (stamp === this.#settingsStamp && !isExpired && !isOwnChange) return;
    const isFirst = this.#settingsStamp === undefined;
    this.#settingsStamp = stamp;
    let paused = true;
    let denial: [code: string, message: string] = ['paused', 'The owner of this machine paused the companion.'];
    try {
      const read = this.#options.folder.readSettings();
      this.#nextExpiry = nextExpiry(read, folder.now());
      ({ paused } = read);
      this.#isUnreadable = false;
      if (isFirst) return;
      this.#track(this.#dispatcher.applySettings(this.#options.folder.settingsInForce()));
    } catch (error) {
      if (!this.#isUnreadable) {
        // An editor may be in the middle of writing it; meanwhile nothing begins.
        [this.#isUnreadable, this.#settingsStamp] = [true, isFirst ? undefined : 'unreadable'];
        return;
      }
      this.#nextExpiry = null;
      this.#connection.lastError = (error as Error).message;
      denial = ['denied_by_device', (error as Error).message];
      if (isFirst) return;
    }
    this.#track(this.#unconfirmed.recheck());
    if (paused) this.#track(this.#dispatcher.denyAll(...denial));
    this.#options.onEvent({ event: 'settings', paused });
    this.#options.onChange?.();
    this.#track(this.#heartbeat().catch(() => undefined));
  }

  /** Writes what the disk did not take before. */
  #writePending(): void {
    const { settingsStore } = this.#options.folder;
    if (this.#audit.pending === 0 && settingsStore?.isWritten !== false) return;
    settingsStore?.retry();
    try {
      this.#audit.flush();
    } catch {
      return;
    }
    this.#options.onChange?.();
  }

  /** Turns off for good what was allowed until now, so that a clock that is turned back does not allow it again. */
  async #removeExpiredPermissions(): Promise<void> {
    const { folder } = this.#options;
    const now = folder.now();
    await folder
      .changeSettings(
        (settings) => void removeExpiredPermissions(settings, now),
        (_settings, before) => {
          const expired = removeExpiredPermissions(before, now);
          this.#audit.note(
            'settings.ended',
            expired.length === 0 ? 'a rule' : expired.join(', '),
            recordSettingsHash(folder),
          );
        },
      )
      .catch(() => undefined);
  }

  async #pause(milliseconds: number): Promise<void> {
    await delay(milliseconds, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
  }

  /** Logs a failure: an unhandled rejection would end the companion. */
  #track(work: Promise<void>): void {
    const tracked: Promise<void> = work
      .catch((error: unknown) => this.#options.onEvent({ event: 'fault', message: (error as Error).message }))
      .finally(() => this.#reports.delete(tracked));
    this.#reports.add(tracked);
  }
}
