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
import { appVersion, describeDevice, describeDevicePowers, FactReader } from './facts.ts';
import type { HostPort } from './host-port.ts';
import type { ReceivedCommand } from './hub-answers.ts';
import { HubConnection } from './hub-connection.ts';
import { answerTooLarge, HubError } from './hub-error.ts';
import { Journal } from './journal.ts';
import type { FinishedCommand } from './journal.ts';
import { recordSettingsHash } from './owner-changes.ts';
import { PermissionReader } from './permissions.ts';
import { ProcessGuard } from './process-guard.ts';
import type { Prompts } from './prompts.ts';
import { resultDenial } from './result-denial.ts';
import type { PictureKeeper } from './sent-pictures.ts';
import { UnconfirmedCommands, maxUnconfirmed } from './unconfirmed-commands.ts';

export interface CompanionOptions {
  folder: DataFolder;
  identity: Identity;
  /** Aborts to stop the companion: running commands are ended, and results are sent. */
  signal: AbortSignal;
  onEvent: (event: CompanionEvent) => void;
  /** Called with the log entry of each command that ended. */
  onCommand?: (line: AuditLine) => void;
  /** Called when `view` changed. */
  onChange?: () => void;
  prompts?: Prompts;
  pictures?: PictureKeeper;
  /** The owner's log, when other parts of the process also write to it. */
  audit?: AuditLog;
  /** The app around this runtime. */
  host?: HostPort | null;
  /** The browser session of the data folder's profile. When left out, the companion creates one. */
  browser?: BrowserSession;
  /** False to use HTTP requests only, and no WebSocket channel. */
  channel?: boolean;
}

const maxRunning = 4;
/** Runs that one heartbeat may name. It equals the number of pages that may be open. */
const maxBrowserRuns = 100;
/** An empty answer within this time, in milliseconds, was no long poll. A pause then prevents a busy loop. */
const immediateAnswerMs = 1_000;
/** How long to wait for a free slot before polling for withdrawals only, in milliseconds. */
const slotWaitMs = 100;
const requestTimeoutMs = 20_000;
/** Duration of a poll over a channel, in seconds. It is long because a waiting poll costs nothing there. */
const channelPollSeconds = 600;
const settingsCheckMs = 250;
/** How long heartbeats use a list of the devices of this machine, in milliseconds. */
const devicesFreshMs = 60_000;
const stopDeadlineMs = 8_000;

const isAbort = (signal: AbortSignal) => signal.aborted;

/** What the hub lets workflows do with this machine. A field is absent until the hub sent it. */
export interface HubSwitches {
  system?: boolean;
  browser?: boolean;
}

/** The state of a running companion that the owner sees. */
export interface CompanionView {
  isUp: boolean;
  by: 'channel' | 'poll';
  lastError: string | null;
  running: RunningCommand[];
  hubAllows: HubSwitches;
}

/**
 * Polls the hub, runs commands, and sends each result until the hub confirms it. Survives lost connections, restarts of
 * the hub and sleep of the machine.
 */
export class Companion {
  readonly #options: CompanionOptions;
  readonly #connection: HubConnection;
  readonly #journal: Journal;
  readonly #audit: AuditLog;
  readonly #guard = new ProcessGuard((commandId) => this.#noteLeft(commandId));
  readonly #dispatcher: Dispatcher;
  readonly #facts: FactReader;
  readonly #permissions: PermissionReader;
  readonly #stopping = new AbortController();
  /** Aborts some time after a stop, so that results can still be sent. Unsent results stay in the journal. */
  readonly #givingUp = new AbortController();
  readonly #reports = new Set<Promise<void>>();
  readonly #unconfirmed: UnconfirmedCommands;
  #pace = { pollSeconds: 25, heartbeatSeconds: 15 };
  /** Aborts a poll that was started without a free slot. A poll that can return commands is never aborted. */
  #fullPoll: AbortController | undefined;
  /** Ends the wait for a free slot that precedes such a poll. */
  #onSlotFreed: (() => void) | undefined;
  /** Commands that one poll may return. It is 1 while larger answers exceed the size limit. */
  #maxPerPoll = maxRunning;
  /** Whether polls send `runningIsComplete`, which earlier hubs do not know. */
  #sendsRunningIsComplete = true;
  /** Identifies the version of the settings file that was applied last. */
  #settingsStamp: string | null | undefined;
  /** Whether the settings could not be read at the last check. */
  #isUnreadable = false;
  /** When the next permission expires, in milliseconds since 1970. */
  #nextExpiry: number | null = null;
  /** Whether the log was compared with the hub's record of it. */
  #isAnchored = false;
  /**
   * Whether the log was compared with the hub's record and then reported. Before that, no command is requested: the
   * log that proves the settings may have been cut, and a first program could remove a log of which the hub has no
   * record.
   */
  #isLogChecked = false;
  #checkingLog: Promise<void> | undefined;
  /** The hub's own switches, after its first heartbeat answer. */
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
    this.#permissions = new PermissionReader(this.#guard, options.host ?? undefined, devicesFreshMs);
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
      // When the hub does not answer, the command fails because too many pages are open.
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
   * Runs until the signal aborts. No other process may use the data folder.
   * @throws CompanionError when the journal cannot be written, or the hub revoked this device.
   */
  async run(): Promise<void> {
    const { signal } = this.#options;
    this.#journal.open();
    await using _guard = this.#guard;
    await using dispatcher = this.#dispatcher;
    using _permissions = this.#permissions;
    // Closing the channel tells the hub that the aborted poll cannot receive commands any more.
    this.#stopping.signal.addEventListener('abort', () => this.#connection.closeChannel(), { once: true });
    const stop = () => this.#stopping.abort(new Error('the companion stops'));
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    // Later changes are compared with the settings that this first call reads.
    this.#watchSettings();
    // A program can kill the companion and the process guard, and run on.
    await this.#guard.endLeft(this.#journal.startedIds);
    this.#recover();
    const settings = setInterval(() => this.#watchSettings(), settingsCheckMs);
    try {
      await Promise.all([this.#pollForever(), this.#heartbeatForever()]);
    } finally {
      clearInterval(settings);
      dispatcher.endAll('withdrawn', 'The companion was stopped.', 'companion_stopped');
      const deadline = delay(stopDeadlineMs, undefined, { ref: false });
      // Also after a revocation, the ends of all commands are written to the owner's log.
      await Promise.race([dispatcher.idle(), deadline]);
      while (this.#reports.size > 0 && this.#connection.revocation === undefined) {
        if ((await Promise.race([Promise.allSettled(this.#reports).then(() => 'done'), deadline])) !== 'done') break;
      }
      this.#connection.closeChannel();
      this.#journal.close();
    }
    if (this.#connection.revocation !== undefined) throw this.#connection.revocation;
  }

  #noteLeft(commandId: string | null): void {
    const command = commandId === null ? 'an earlier command' : `the command ${commandId}`;
    const message = `The companion could not end all processes of ${command}. It tries again each second. Look for them on this machine.`;
    this.#options.onEvent({ event: 'fault', message });
    this.#audit.note('programs.left', message);
  }

  /** Sends results that an earlier process left, and reports the commands that it did not finish. */
  #recover(): void {
    const { finished, unfinished } = this.#journal.recover();
    for (const result of finished) this.#report(result, true);
    for (const { commandId, type, began, since, facts } of unfinished) {
      const at = since === null ? '' : ` It began at ${since}.`;
      const [code, message] = began
        ? [
            'outcome_unknown',
            `The companion was killed while ${type} was running; look at the machine before you retry.${at}`,
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
          // A hub of an earlier version refuses fields that it does not know.
          this.#sendsRunningIsComplete = false;
          continue;
        }
        if (error instanceof HubError && error.code === answerTooLarge) this.#maxPerPoll = 1;
        const waitMs = this.#connection.markLost(error, failures);
        // The next answer may come from another hub.
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
    // An open channel proves that the hub answers.
    if (by === 'channel') this.#connection.markConnected(by);
    const wait = this.#connection.isUp ? Math.ceil(spreadPeriod(longest)) : 0;
    const max = Math.min(this.#freeSlots, this.#maxPerPoll);
    this.#fullPoll = max === 0 ? new AbortController() : undefined;
    const startedAt = performance.now();
    const { body } = await this.#connection.client.call(
      'pollAutomationNodeCommands',
      // The list is complete, so the hub can immediately deliver again a command that was lost on its way.
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
    // Excess commands are ignored. The hub delivers them again.
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
    // The hub delivered the command again although it runs here or its result is being sent.
    if (this.#unconfirmed.has(command.id)) return;
    this.#unconfirmed.add(command.id);
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

  /** Aborts a poll that was started without a free slot, once a slot is free. */
  #endFullPoll(): void {
    if (this.#freeSlots === 0) return;
    this.#fullPoll?.abort();
    this.#onSlotFreed?.();
  }

  /** Waits a moment for a free slot: short commands often end before a poll without a slot is worthwhile. */
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
        // The poll reports lost connections and paces the attempts. The next heartbeat replaces a missed one.
      }
      await this.#pause(spreadPeriod(this.#pace.heartbeatSeconds) * 1000);
    }
  }

  /** Compares the log with the hub's record, then reports the log. The first heartbeat returns the record. */
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

  /** @param isShort Whether to send only the fields that every version of the hub knows. */
  async #heartbeat(isShort = false): Promise<void> {
    const { identity, folder } = this.#options;
    const { signal } = this.#stopping;
    const settings = folder.settingsOrPause();
    this.#audit.checkForChanges();
    const reportsLog = this.#isAnchored;
    // An earlier hub does not know the field, and its pages belong to no run.
    const browserRuns = isShort ? [] : this.#dispatcher.browserRuns.slice(0, maxBrowserRuns);
    const [facts, permissions] = await Promise.all([
      this.#facts.read(signal),
      this.#permissions.readPermissions(settings, signal),
    ]);
    const { body } = await this.#connection.client.call(
      'heartbeatAutomationNode',
      {
        params: { id: identity.nodeId },
        body: {
          paused: settings.paused,
          // Sent only after the log was compared with the hub's record, so that a cut log is not reported as intact.
          ...(reportsLog ? { audit: { ...this.#audit.head, isBroken: this.#audit.problem !== null } } : {}),
          running: this.#unconfirmed.wanted,
          ...(isShort
            ? {}
            : {
                facts: {
                  ...facts,
                  waitingForOwner: this.#options.prompts?.waiting.map(({ commandId }) => commandId) ?? [],
                },
                device: {
                  ...describeDevice(settings, identity.name, this.#options.host?.offer.captures),
                  powers: describeDevicePowers(settings, permissions, folder.now()),
                },
                browserRuns,
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
    this.#dispatcher.confirmRuns(browserRuns.filter((id) => !body.endedRuns.includes(id)));
    await this.#dispatcher.endRuns(body.endedRuns);
  }

  #report(finished: FinishedCommand, wasTried = false): void {
    this.#unconfirmed.add(finished.commandId);
    this.#track(this.#sendUntilConfirmed(finished, wasTried));
  }

  /** Logs that the owner's settings do not let a result be sent. The log has the command itself as a success. */
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

  /** Applies a change of the owner now, without waiting for the next check of the file. */
  settingsChanged(): void {
    this.#watchSettings(true);
  }

  /** A command that waits for the owner's answer frees its slot, and the hub shows that it waits. */
  promptsChanged(): void {
    this.#endFullPoll();
    this.#track(this.#heartbeat().catch(() => undefined));
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
        // An editor may be writing the file. No command starts until the next check.
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

  /** Writes settings and log entries that could not be written before, such as on a full disk. */
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

  /** Removes expired permissions from the settings, so that turning back the clock does not restore them. */
  async #removeExpiredPermissions(): Promise<void> {
    const { folder } = this.#options;
    const now = folder.now();
    await folder
      .changeSettings(
        (settings) => {
          removeExpiredPermissions(settings, now);
        },
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
