import { openAsBlob, readFileSync, statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { AuditLog } from './audit.ts';
import { CompanionError } from './data-folder.ts';
import type { DataFolder, Identity } from './data-folder.ts';
import { Dispatcher } from './dispatcher.ts';
import { describeDevice, FactReader } from './facts.ts';
import { HubClient, HubError } from './hub-client.ts';
import { Journal } from './journal.ts';
import type { FinishedCommand } from './journal.ts';
import { ownDataFolder } from './owner.ts';
import type { RunningStatus } from './owner.ts';
import { ProcessGuard } from './process-guard.ts';

/** What a running companion tells its owner, a line each. */
export type CompanionEvent =
  | { event: 'connected'; hub: string }
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
}

const maxRunning = 4;
const maxBackoffMs = 30_000;
const firstBackoffMs = 250;
const requestTimeoutMs = 20_000;
const uploadTimeoutMs = 300_000;
const settingsBeatMs = 500;
const stopDeadlineMs = 8_000;
/** Artefacts up to this size go inside the JSON. */
const inlineArtifactBytes = 4 * 1024 * 1024;
const unpairedExitCode = 3;

const isAbort = (signal: AbortSignal) => signal.aborted;

/**
 * A companion at work: polls its hub, carries commands out, reports results until the hub has them, and lives through lost
 * connections, restarts of the hub and sleep.
 */
export class Companion {
  readonly #options: CompanionOptions;
  readonly #client: HubClient;
  readonly #journal: Journal;
  readonly #guard = new ProcessGuard();
  readonly #dispatcher: Dispatcher;
  readonly #facts: FactReader;
  readonly #stopping = new AbortController();
  readonly #reports = new Set<Promise<void>>();
  #pace = { pollSeconds: 25, heartbeatSeconds: 15 };
  #connected = false;
  #lastError: string | null = null;
  #fatal: CompanionError | undefined;
  /** Interrupts a poll that was begun with fewer free places, or without a command that runs now. */
  #repoll = new AbortController();
  /** When the settings were written that are in force. */
  #watched: number | null | undefined;

  constructor(options: CompanionOptions) {
    this.#options = options;
    const { folder, identity } = options;
    this.#client = new HubClient(identity.hub, identity.deviceSecret);
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
    return { pid: process.pid, connected: this.#connected, hub, nodeId, running: this.#dispatcher.running, lastError: this.#lastError };
  }

  /**
   * Works until the signal aborts.
   * @throws CompanionError when another companion has the data folder, or the hub revoked this device.
   */
  async run(): Promise<void> {
    const { signal, folder } = this.#options;
    await using _owner = await ownDataFolder(folder, () => this.status);
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
      this.#journal.close();
    }
    if (this.#fatal !== undefined) throw this.#fatal;
  }

  /** Reports what an earlier process left behind. */
  #recover(): void {
    const { finished, unfinished } = this.#journal.recover();
    for (const result of finished) this.#report(result);
    for (const { commandId, type } of unfinished) {
      const message = `The companion was killed while ${type} was under way; look at the machine before you retry.`;
      this.#report({ commandId, result: { status: 'failed', error: { code: 'outcome_unknown', message } }, artifacts: [] });
    }
  }

  async #pollForever(): Promise<void> {
    let failures = 0;
    while (!isAbort(this.#stopping.signal)) {
      try {
        await this.#poll();
        failures = 0;
      } catch (error) {
        if (isAbort(this.#stopping.signal)) return;
        if (this.#repoll.signal.aborted) {
          this.#repoll = new AbortController();
          continue;
        }
        if (this.#endIfRevoked(error)) return;
        const waitMs = this.#backoff(error, failures);
        failures += 1;
        await this.#pause(waitMs);
      }
    }
  }

  async #poll(): Promise<void> {
    const { identity, onEvent } = this.#options;
    const running = this.#dispatcher.running;
    const wait = this.#connected ? this.#pace.pollSeconds : 0;
    const { body } = await this.#client.call(
      'pollAutomationNodeCommands',
      { params: { id: identity.nodeId }, query: { wait, max: Math.max(0, maxRunning - running.length), running: running.map(({ id }) => id).join(',') } },
      { signal: AbortSignal.any([this.#stopping.signal, this.#repoll.signal]), timeoutMs: wait * 1000 + requestTimeoutMs },
    );
    if (!this.#connected) {
      this.#connected = true;
      this.#lastError = null;
      onEvent({ event: 'connected', hub: identity.hub });
    }
    for (const id of body.withdrawn) this.#dispatcher.withdraw(id);
    for (const command of body.commands) {
      const work = this.#dispatcher
        .execute(command)
        .then((finished) => {
          // A free place: the poll that waits was begun without it.
          if (this.#dispatcher.running.length === maxRunning - 1) this.#repoll.abort();
          if (finished !== null) this.#report(finished);
        })
        .catch((error: unknown) => onEvent({ event: 'command', type: command.type, outcome: 'failed', message: (error as Error).message }));
      this.#track(work);
    }
  }

  async #beatForever(): Promise<void> {
    while (!isAbort(this.#stopping.signal)) {
      try {
        await this.#beat();
      } catch (error) {
        if (this.#endIfRevoked(error)) return;
        // The poll tells of a lost connection and paces the attempts; a missed beat is made up by the next.
      }
      await this.#pause(this.#pace.heartbeatSeconds * 1000);
    }
  }

  async #beat(): Promise<void> {
    const { identity, folder } = this.#options;
    const { signal } = this.#stopping;
    const settings = folder.readSettings();
    const facts = await this.#facts.read(signal);
    const running = this.#dispatcher.running.map(({ id }) => id);
    const { body } = await this.#client.call('heartbeatAutomationNode', { params: { id: identity.nodeId }, body: { facts, device: describeDevice(settings, identity.name), paused: settings.paused, running } }, { signal, timeoutMs: requestTimeoutMs });
    this.#pace = body.hub;
    for (const id of body.withdrawn) this.#dispatcher.withdraw(id);
  }

  #report(finished: FinishedCommand): void {
    this.#track(this.#sendUntilKnown(finished));
  }

  /** Sends a result again and again until the hub has it, or does not know the command any more. */
  async #sendUntilKnown(finished: FinishedCommand): Promise<void> {
    const { identity } = this.#options;
    // A stop still gives results their chance; giving up is the journal's business, not ours.
    const giveUp = new AbortController();
    const onStop = () => setTimeout(() => giveUp.abort(new Error('the companion stops')), stopDeadlineMs - 1_000).unref();
    this.#stopping.signal.addEventListener('abort', onStop, { once: true });
    if (this.#stopping.signal.aborted) onStop();
    let sent = finished;
    let isRefusal = false;
    for (let failures = 0; !isAbort(giveUp.signal); failures += 1) {
      try {
        const { body, form } = await packResult(sent);
        await this.#client.call(
          'completeAutomationNodeCommand',
          { params: { id: identity.nodeId, commandId: finished.commandId }, body },
          { signal: giveUp.signal, timeoutMs: form === undefined ? requestTimeoutMs * 2 : uploadTimeoutMs, ...(form === undefined ? {} : { form }) },
        );
        break;
      } catch (error) {
        if (error instanceof HubError && error.status >= 400 && error.status < 500 && error.status !== 429) {
          if (error.status === 401) return;
          this.#lastError = `The hub refused a result: ${error.message}`;
          if (error.status === 404 || isRefusal) break;
          // The run must not wait for an answer that the hub can't take.
          const message = `The hub could not take the result: ${error.message}`.slice(0, 4000);
          sent = { ...finished, result: { status: 'failed', error: { code: error.status === 413 ? 'too_large' : 'failed', message } }, artifacts: [] };
          isRefusal = true;
          continue;
        }
        if (isAbort(giveUp.signal)) return;
        await delay(Math.random() * Math.min(maxBackoffMs, firstBackoffMs * 2 ** failures), undefined, { signal: giveUp.signal }).catch(() => undefined);
      }
    }
    if (!isAbort(giveUp.signal)) this.#journal.confirm(finished.commandId);
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
      ({ paused } = this.#options.folder.readSettings());
    } catch (error) {
      this.#lastError = (error as Error).message;
    }
    if (paused) this.#dispatcher.endAll('paused', 'The owner of this machine paused the companion.');
    this.#options.onEvent({ event: 'settings', paused });
    this.#track(this.#beat().catch(() => undefined));
  }

  #endIfRevoked(error: unknown): boolean {
    if (!(error instanceof HubError) || !error.isRevocation) return false;
    this.#fatal ??= new CompanionError(`The hub does not know this machine any more (${error.message}) Pair it again with: outrigger-companion pair CODE --hub ${this.#options.identity.hub}`, { exitCode: unpairedExitCode });
    this.#stopping.abort(this.#fatal);
    return true;
  }

  /** Full jitter, so that a thousand companions do not come back at once. */
  #backoff(error: unknown, failures: number): number {
    const { onEvent } = this.#options;
    const asked = error instanceof HubError ? error.retryAfterSeconds : undefined;
    const waitMs = asked === undefined ? Math.random() * Math.min(maxBackoffMs, firstBackoffMs * 2 ** failures) : Math.min(asked * 1000, 300_000) * (1 + Math.random() * 0.2);
    const reason = (error as Error).message;
    if (this.#connected || reason !== this.#lastError) onEvent({ event: 'disconnected', reason, retryInSeconds: Math.round(waitMs / 100) / 10 });
    this.#connected = false;
    this.#lastError = reason;
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

/** The body of a result: JSON with its artefacts inside, or a form when they are large. */
async function packResult({ result, artifacts }: FinishedCommand) {
  const total = artifacts.reduce((sum, { filePath }) => sum + statSync(filePath).size, 0);
  if (total <= inlineArtifactBytes) {
    const inline = artifacts.map(({ name, contentType, filePath }) => ({ name, contentType, base64: readFileSync(filePath).toString('base64') }));
    return { body: { ...result, ...(inline.length === 0 ? {} : { artifacts: inline }) }, form: undefined };
  }
  const form = new FormData();
  form.set('result', JSON.stringify(result));
  for (const { name, contentType, filePath } of artifacts) form.set(name, await openAsBlob(filePath, { type: contentType }), name);
  return { body: result, form };
}
