import { systemRun } from '../../shared/commands/system.ts';
import type { ControlEvent, ControlResult, TestPart } from '../../shared/companion/control.ts';
import type { CompanionState } from '../../shared/companion/state.ts';
import { AuditLog } from './audit.ts';
import type { AuditLine } from './audit.ts';
import { background } from './background.ts';
import { BrowserSession } from './commands/browser/session.ts';
import { Companion } from './companion.ts';
import { ControlServer } from './control/server.ts';
import type { ControlConnection, ControlHandlers } from './control/server.ts';
import { CompanionError } from './data-folder.ts';
import type { DataFolder } from './data-folder.ts';
import { DeviceSecrets } from './device-secrets.ts';
import type { CompanionEvent } from './event-log.ts';
import { appVersion } from './facts.ts';
import { historyEntryOf, readHistory } from './history.ts';
import type { HostPort } from './host-port.ts';
import { changeSettings, recordSettingsHash } from './owner-changes.ts';
import { keepHubAddress, pair, proveHub, unpair } from './pairing.ts';
import { PermissionReader } from './permissions.ts';
import { ProcessGuard } from './process-guard.ts';
import { Prompts } from './prompts.ts';
import { runSelfTest } from './self-test.ts';
import { SentPictures } from './sent-pictures.ts';
import { describePairing, describePowers, readOwnFiles } from './state-view.ts';

export interface SupervisorOptions {
  folder: DataFolder;
  /** The app around this runtime; null without one. */
  host: HostPort | null;
  /** Whether to keep running while this machine is not paired, so that the owner can pair it from the window. */
  staysUnpaired: boolean;
  signal: AbortSignal;
  onEvent: (event: CompanionEvent) => void;
  channel?: boolean;
}

/** Delay before a changed state is sent, so that several changes are sent together, in milliseconds. */
const stateDelayMs = 100;
/** How long a state event waits for slow permission checks, in milliseconds. */
const eventStateWaitMs = 200;
/** Interval at which to check whether another program paired this machine, in milliseconds. */
const pairingCheckMs = 1_000;

/**
 * The only process that works on a data folder. It answers the owner's programs, and runs a companion while this
 * machine is paired.
 */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #secrets: DeviceSecrets;
  readonly #prompts = new Prompts(systemRun.promptMs, (event) => {
    this.#options.onEvent(event);
    this.#companion?.promptsChanged();
    this.#changed();
  });
  readonly #audit: AuditLog;
  readonly #pictures: SentPictures;
  readonly #guard = new ProcessGuard();
  readonly #browser: BrowserSession;
  readonly #permissions: PermissionReader;
  readonly #subscribers = new Set<ControlConnection>();
  /** Aborts when another companion took over the data folder. */
  readonly #takenOver = new AbortController();
  #companion: Companion | undefined;
  /** Ends the running companion, before the pairing changes. */
  #endCompanion: AbortController | undefined;
  #companionEnded: Promise<unknown> = Promise.resolve();
  #problem: string | null = null;
  /** Serialises changes of the pairing. */
  #pairingQueue: Promise<unknown> = Promise.resolve();
  #endWaitForPairing: (() => void) | undefined;
  #stateTimer: NodeJS.Timeout | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = { ...options, signal: AbortSignal.any([options.signal, this.#takenOver.signal]) };
    const { folder, host } = options;
    this.#secrets = new DeviceSecrets(host);
    this.#audit = new AuditLog(folder.audit, (line) => this.#broadcastCommand(line));
    this.#browser = new BrowserSession(folder.browserProfile);
    this.#pictures = new SentPictures(folder.pictures);
    this.#permissions = new PermissionReader(this.#guard, host ?? undefined);
  }

  /**
   * Runs until the signal aborts.
   * @throws CompanionError when another process has the data folder or takes it over. Without `staysUnpaired`, also
   * when this machine is not paired or no longer paired.
   */
  async run(): Promise<void> {
    const { folder, signal } = this.#options;
    await using _guard = this.#guard;
    await using _browser = this.#browser;
    using _permissions = this.#permissions;
    await using _control = await ControlServer.listen(folder, this.#handlers(), {
      runsProgram: () => this.#companion?.view.running.some(({ type }) => type === systemRun.type) === true,
      onSocketRestored: () =>
        this.#audit.note('control.replaced', 'another program moved or replaced the control socket'),
      onTakenOver: (error) => this.#takenOver.abort(error),
    });
    // From here on only this process writes the settings and the log.
    const recorded = folder.recordedSettings();
    const store = folder.openSettingsStore({
      notBefore: this.#audit.lastAt,
      recorded,
      onEdit: () => this.#noteEdit(),
    });
    if (recorded === undefined && store.pairingChange === null && folder.stampOf('settings.json') !== null)
      this.#audit.note('settings.recorded', 'recorded the settings of the first start', recordSettingsHash(folder));
    if (!this.#audit.verify().ok) store.distrust();
    else if (store.needsRecord || store.pairingChange !== null) this.#noteEdit();
    this.#recordPairing(store.pairingChange === null);
    using _pictures = this.#pictures;
    folder.emptyTemporary();
    try {
      while (!signal.aborted) await this.#runPairing();
      this.#takenOver.signal.throwIfAborted();
    } finally {
      clearTimeout(this.#stateTimer);
      // A change that the hub already knows must also be stored here.
      await this.#pairingQueue;
    }
  }

  /** Records a pairing of an earlier version, whose log has it only in words. */
  #recordPairing(isTrusted: boolean): void {
    const { pairing } = readOwnFiles(this.#options.folder);
    if (!isTrusted || pairing === null || this.#audit.hasPairing) return;
    const { hub, nodeId } = pairing;
    this.#audit.note('settings.recorded', `recorded the pairing with ${hub} as node ${nodeId}`, {
      pairing: { hub, nodeId },
    });
  }

  /** Records the settings in force after another program changed the file or the log. */
  #noteEdit(): void {
    const { folder } = this.#options;
    this.#audit.note('settings.edited', folder.settingsStore?.editSummary ?? '', recordSettingsHash(folder));
    // On a full disk this entry may be lost, and the next start would not notice. So the edit is removed from the file.
    if (this.#audit.problem !== null && this.#audit.pending > 0) folder.settingsStore?.persist();
    this.#changed();
  }

  /** Runs the companion of one pairing until it ends, or waits for a pairing. */
  async #runPairing(): Promise<void> {
    const { folder, host, signal, onEvent, channel, staysUnpaired } = this.#options;
    // During a change, the file still has the old pairing.
    await this.#pairingQueue;
    const stamp = folder.stampOf('identity.json');
    const ending = new AbortController();
    const ended = Promise.withResolvers<void>();
    const ends = AbortSignal.any([signal, ending.signal]);
    [this.#endCompanion, this.#companionEnded] = [ending, ended.promise];
    try {
      const pairing = folder.readPairing();
      if (pairing === null)
        throw new CompanionError('This machine is not paired; pair it with: outrigger-companion pair CODE --hub URL');
      const change = folder.pairingChange(pairing);
      if (change !== null) folder.settingsStore?.distrustPairing(change);
      const identity = await this.#secrets.open(folder, pairing, ends);
      this.#problem = null;
      if (ends.aborted) return;
      this.#companion = new Companion({
        folder,
        identity,
        signal: ends,
        onEvent,
        host,
        browser: this.#browser,
        prompts: this.#prompts,
        pictures: this.#pictures,
        audit: this.#audit,
        onChange: () => this.#changed(),
        onCommand: (line) => this.#broadcastCommand(line),
        ...(channel === undefined ? {} : { channel }),
      });
      await this.#companion.run();
      return;
    } catch (error) {
      if (ends.aborted) return;
      if (!staysUnpaired || !(error instanceof CompanionError)) throw error;
      this.#problem = folder.stampOf('identity.json') === null ? null : error.message;
    } finally {
      this.#companion = undefined;
      this.#endCompanion = undefined;
      ended.resolve();
      this.#changed();
    }
    await this.#waitForPairing(stamp);
  }

  #waitForPairing(stamp: string | null): Promise<void> {
    const { folder, signal } = this.#options;
    return new Promise((done) => {
      const end = () => {
        clearInterval(timer);
        signal.removeEventListener('abort', end);
        this.#endWaitForPairing = undefined;
        done();
      };
      const timer = setInterval(() => folder.stampOf('identity.json') === stamp || end(), pairingCheckMs);
      signal.addEventListener('abort', end, { once: true });
      this.#endWaitForPairing = end;
      if (signal.aborted) end();
    });
  }

  #handlers(): ControlHandlers {
    const { folder } = this.#options;
    return {
      state: () => this.#state(),
      subscribe: async (_params, connection) => {
        this.#subscribers.add(connection);
        connection.signal.addEventListener('abort', () => this.#subscribers.delete(connection), { once: true });
        return this.#state();
      },
      history: async ({ limit }) => ({ entries: readHistory(this.#audit, this.#pictures, limit) }),
      picture: async ({ commandId }) => {
        const kept = await this.#pictures.read(commandId);
        if (kept === null) throw new CompanionError('That picture is not kept any more.');
        return { contentType: kept.contentType, base64: kept.bytes.toString('base64') };
      },
      change: async (change) => {
        await changeSettings(folder, change, folder.now(), this.#audit);
        if (change.change === 'keep_pictures' && !change.keep) this.#pictures.clear();
        this.#companion?.settingsChanged();
        this.#changed();
        return this.#state();
      },
      verifyAudit: async () => {
        const verdict = this.#audit.verify();
        this.#changed();
        return verdict;
      },
      setAuditAside: async () => {
        this.#audit.setAside();
        this.#changed();
        return this.#state();
      },
      answerPrompt: async ({ promptId, answer }) => {
        this.#prompts.answer(promptId, answer);
        return this.#state();
      },
      pair: async (request) => {
        await this.#changePairing(request.force, () => pair(folder, this.#secrets, request, this.#audit));
        return this.#state();
      },
      moveHub: async (request) => {
        // Verified before the companion stops, so that it continues at the old address if the new one is wrong.
        const hub = await proveHub(folder, this.#secrets, request);
        await this.#changePairing(true, async () => keepHubAddress(folder, hub, this.#audit));
        return this.#state();
      },
      unpair: () => this.#changePairing(true, () => unpair(folder, this.#secrets, this.#audit)),
      setAside: async ({ file }) => {
        // A change of the pairing in progress finishes first.
        const aside = await this.#changePairing(false, () => folder.setAside(file));
        this.#audit.note('owner.change', `set aside ${aside}`, recordSettingsHash(folder));
        this.#companion?.settingsChanged();
        this.#changed();
        return this.#state();
      },
      test: ({ parts }, connection) => this.#test(parts, connection),
    };
  }

  async #test(parts: readonly TestPart[], connection: ControlConnection): Promise<ControlResult<'test'>> {
    const { folder, host, signal } = this.#options;
    const results = await runSelfTest(
      parts,
      {
        settings: () => folder.settingsInForce(),
        identity: async () => {
          const pairing = folder.readPairing();
          return pairing === null ? null : this.#secrets.open(folder, pairing, signal);
        },
        temporary: folder.temporary,
        guard: this.#guard,
        browser: this.#browser,
        permissions: this.#permissions,
        ...(host === null ? {} : { host }),
      },
      {
        signal: AbortSignal.any([connection.signal, signal]),
        onResult: (result) => connection.send({ event: 'test', result }),
      },
    );
    return { results };
  }

  /** @param ends Whether the running companion ends first, so that it sends its remaining results. */
  #changePairing<Result>(ends: boolean, change: () => Promise<Result>): Promise<Result> {
    const changed = this.#pairingQueue.then(async () => {
      if (ends) {
        this.#endCompanion?.abort(new Error('the pairing changes'));
        await this.#companionEnded;
      }
      const result = await change();
      this.#endWaitForPairing?.();
      return result;
    });
    this.#pairingQueue = changed.catch(() => undefined);
    return changed;
  }

  /** @param waitMs How long the permission checks of the system may take. */
  async #state(waitMs = 1_000): Promise<CompanionState> {
    const { folder } = this.#options;
    const { settings } = readOwnFiles(folder);
    const powers = await describePowers(settings, this.#companion?.view.hubAllows ?? {}, (asked) =>
      this.#permissions.readPermissions(asked, this.#options.signal, waitMs),
    );
    // Values that change quickly are read last.
    const { pairing, problem, broken } = readOwnFiles(folder);
    const view = this.#companion?.view;
    return {
      version: appVersion,
      pid: process.pid,
      dataFolder: folder.path,
      keyStore: { name: this.#secrets.keyStore },
      paired: describePairing(pairing),
      connection: { isUp: view?.isUp ?? false, by: view?.by ?? 'poll', lastError: view?.lastError ?? null },
      problem: problem ?? this.#problem,
      broken,
      audit: { problem: this.#audit.problem, unwritten: this.#audit.pending },
      edited: folder.settingsStore?.edited ?? null,
      running: view?.running ?? [],
      prompts: this.#prompts.waiting,
      settings,
      powers,
    };
  }

  #changed(): void {
    if (this.#subscribers.size === 0) return;
    this.#stateTimer ??= setTimeout(() => {
      this.#stateTimer = undefined;
      const broadcast = async () => this.#broadcast({ event: 'state', state: await this.#state(eventStateWaitMs) });
      background(broadcast(), 'sending the state');
    }, stateDelayMs).unref();
  }

  #broadcastCommand(line: AuditLine): void {
    if (this.#subscribers.size > 0) this.#broadcast({ event: 'command', entry: historyEntryOf(line, this.#pictures) });
  }

  #broadcast(event: ControlEvent): void {
    for (const subscriber of this.#subscribers) subscriber.send(event);
  }
}
