import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { effectiveSettings } from '../../shared/companion/settings.ts';
import type { LocalSettings } from '../../shared/companion/settings.ts';
import type { OwnFile } from '../../shared/companion/state.ts';
import { issueMessage } from '../../shared/issue-messages.ts';
import type { RecordedPairing } from './audit-line.ts';
import { recordedPairing, recordedSettingsHash } from './audit.ts';
import { BrokenFileError, CompanionError } from './companion-error.ts';
import { lockFile } from './lock-file.ts';
import { createOwnFile, NotAFileError, openOwnFile, readOwnFile } from './own-file.ts';
import { allowsNoMore, hashOfSettings } from './settings-edits.ts';
import { SettingsStore } from './settings-store.ts';
import type { SettingsStoreOptions, PairingChange, RecordedSettings } from './settings-store.ts';
import { localSettings } from './settings.ts';

export { BrokenFileError, CompanionError } from './companion-error.ts';

const pairingFile = z
  .strictObject({
    nodeId: z.uuid(),
    deviceSecret: z.string().min(1).optional(),
    /** The secret, sealed by the system's key store, in base64. */
    sealedSecret: z.string().min(1).optional(),
    hub: z.url(),
    name: z.string().optional(),
    pairedAt: z.string(),
  })
  .refine(({ deviceSecret, sealedSecret }) => (deviceSecret === undefined) !== (sealedSecret === undefined));
/** How this machine is paired, as stored on the disk. */
export type Pairing = z.output<typeof pairingFile>;
/** A pairing with its secret in plain text. */
export type Identity = Omit<Pairing, 'sealedSecret' | 'deviceSecret'> & { deviceSecret: string };

/** The last two settings that the owner's log recorded. An entry of the log holds only their hash. */
const recordedCopies = z.array(z.unknown()).min(1).max(2);

const pairAgain = 'remove it, and pair again: outrigger-companion pair CODE --hub URL';
const refusedUntilThen = 'until then every command is refused, also without a pause:';

const usualPath = () => join(homedir(), '.outrigger-companion');

/** Suffix for names that belong to a data folder, such as its service. It is empty for the default folder. */
export const folderSuffix = (path: string): string =>
  path === usualPath() ? '' : `-${createHash('sha256').update(path).digest('hex').slice(0, 8)}`;

/**
 * All files of the companion on this machine. Only the owner can read them.
 */
export class DataFolder {
  readonly path: string;
  #store: SettingsStore | undefined;

  constructor(path?: string) {
    this.path = resolve(path ?? usualPath());
    try {
      mkdirSync(this.path, { recursive: true, mode: 0o700 });
      chmodSync(this.path, 0o700);
      mkdirSync(this.journal, { recursive: true, mode: 0o700 });
      mkdirSync(this.temporary, { recursive: true, mode: 0o700 });
    } catch (error) {
      throw new CompanionError(
        `The data folder ${this.path} can't be written (${(error as NodeJS.ErrnoException).code ?? 'error'}); fix its permissions, or name another with --data-folder.`,
        { cause: error },
      );
    }
  }

  get journal(): string {
    return join(this.path, 'journal');
  }

  get temporary(): string {
    return join(this.path, 'temporary');
  }

  /** Removes files that a killed process left. Only the process that runs the companion may call it, at its start. */
  emptyTemporary(): void {
    for (const name of readdirSync(this.temporary))
      rmSync(join(this.temporary, name), { recursive: true, force: true });
  }

  get audit(): string {
    return join(this.path, 'audit.jsonl');
  }

  get pictures(): string {
    return join(this.path, 'pictures');
  }

  get browserProfile(): string {
    return join(this.path, 'browser-profile');
  }

  /** How this machine is paired, or null when it is not paired. */
  readPairing(): Pairing | null {
    const text = this.#read('identity.json');
    if (text === null) return null;
    const parsed = pairingFile.safeParse(parseJson(text));
    if (!parsed.success)
      throw new BrokenFileError('identity', join(this.path, 'identity.json'), 'is broken', pairAgain);
    return parsed.data;
  }

  /** How a pairing differs from the one that the owner's log recorded last. Null when they are equal or none exists. */
  pairingChange(pairing: Pairing | null): PairingChange | null {
    if (pairing === null) return null;
    const { hub, nodeId } = pairing;
    let recorded;
    try {
      recorded = recordedPairing(this.audit);
    } catch {
      // A log that cannot be read records nothing.
    }
    if (recorded?.hub === hub && recorded.nodeId === nodeId) return null;
    const before =
      recorded === undefined
        ? 'not recorded'
        : recorded === null
          ? 'not paired'
          : `${recorded.hub} (node ${recorded.nodeId})`;
    return { pairing: { hub, nodeId }, text: `pairing: ${before} → ${hub} (node ${nodeId})` };
  }

  /** The same for the pairing on the disk. An invalid pairing counts as none, because no companion uses it. */
  #pairingChange(): PairingChange | null {
    try {
      return this.pairingChange(this.readPairing());
    } catch {
      return null;
    }
  }

  writePairing(value: Pairing): void {
    this.#write('identity.json', value);
  }

  removePairing(): void {
    rmSync(join(this.path, 'identity.json'), { force: true });
  }

  /**
   * Keeps the settings in memory from now on. Only the process that runs the companion on this folder may call it.
   */
  openSettingsStore(options: SettingsStoreOptions): SettingsStore {
    this.#store = this.#createStore(options);
    return this.#store;
  }

  #createStore(options: SettingsStoreOptions): SettingsStore {
    return new SettingsStore(
      {
        stamp: () => this.stampOf('settings.json'),
        read: () => this.#readSettingsFile(),
        write: (settings) => this.#withWriteError(() => this.#writeSettings(settings)),
      },
      { pairingChange: this.#pairingChange(), ...options },
    );
  }

  /** The settings that this process keeps in memory. Undefined before `openSettingsStore`. */
  get settingsStore(): SettingsStore | undefined {
    return this.#store;
  }

  /** The time that decides whether permissions have expired, in milliseconds since 1970. */
  now(): number {
    return this.#store?.now() ?? Date.now();
  }

  /**
   * The owner's settings. Everything is off when the file does not exist. While this process does not keep the
   * settings in memory, permissions that the file adds to the recorded settings are left out.
   * @throws CompanionError that names the mistake in the file.
   */
  readSettings(): LocalSettings {
    return this.#currentStore().read();
  }

  /** The settings that this process keeps in memory; otherwise the file, compared with the recorded settings. */
  #currentStore(): SettingsStore {
    return this.#store ?? this.#createStore({ recorded: this.recordedSettings(), onEdit: () => undefined });
  }

  /**
   * Puts the settings file in force as it is.
   * @param seen Hash of the edit that the owner saw.
   * @returns the settings in force, the changes, and the pairing that the owner accepted with them.
   * @throws CompanionError when the file cannot be read or written, or was edited again since.
   */
  acceptSettings(seen?: string): { settings: LocalSettings; changes: string[]; pairing: RecordedPairing } {
    const store = this.#currentStore();
    store.read();
    const { changes = [] } = store.edited ?? {};
    // A process that keeps no settings in memory did not show the pairing.
    const pairing = this.#store?.pairingChange?.pairing ?? null;
    const settings = store.accept(seen);
    if (settings === null)
      throw new CompanionError('settings.json was changed again, so nothing was accepted. Look at the changes again.');
    return { settings, changes, pairing };
  }

  /**
   * Discards an edit that waits for the owner to accept it.
   * @returns the settings in force, and the discarded changes.
   * @throws CompanionError when the file cannot be read or written, or while a pairing waits.
   */
  discardSettings(): { settings: LocalSettings; changes: string[] } {
    const store = this.#currentStore();
    store.read();
    if (store.pairingChange !== null)
      throw new CompanionError(
        'A pairing that the log did not record waits for you, and cannot be discarded. To refuse the pairing, pair again: outrigger-companion pair CODE --force --hub URL. To accept the pairing and settings.json: outrigger-companion settings accept',
      );
    const changes = store.edited?.changes ?? [];
    return { settings: store.discard(), changes };
  }

  /** The settings that the owner's log recorded last; undefined when none were recorded. */
  recordedSettings(): RecordedSettings | undefined {
    const copies = this.#readCopies();
    let hash: string | undefined;
    try {
      hash = recordedSettingsHash(this.audit);
    } catch {
      return { hash: null, settings: null };
    }
    if (hash === undefined) return copies.length === 0 ? undefined : { hash: null, settings: null };
    const copy = copies.find((one) => hashOfSettings(one) === hash);
    return { hash, settings: localSettings.safeParse(copy).data ?? null };
  }

  /**
   * Stores a copy of the settings in force, so that a later start can compare the file with them.
   * @returns their hash for an entry of the owner's log. Undefined when the settings cannot be read.
   */
  recordSettings(given?: LocalSettings): string | undefined {
    let settings: LocalSettings;
    try {
      settings = given ?? this.#store?.current ?? this.#readSettingsFile();
    } catch {
      return undefined;
    }
    const hash = hashOfSettings(settings);
    const copies = this.#readCopies();
    const older = copies.filter((copy) => hashOfSettings(copy) !== hash);
    // After a crash between this copy and the entry, the previous copy still matches the last entry.
    if (older.length === copies.length || hashOfSettings(copies[0]) !== hash)
      this.#writeCopies([settings, ...older].slice(0, 2));
    return hash;
  }

  #writeCopies(copies: unknown[]): void {
    try {
      this.#write('settings.recorded.json', copies);
    } catch {
      // Without line breaks the copies usually fit in the old file on a full disk.
      try {
        writeOver(join(this.path, 'settings.recorded.json'), JSON.stringify(copies));
      } catch {
        // A later start without a copy denies everything until the owner accepts a changed settings file.
      }
    }
  }

  #readCopies(): unknown[] {
    try {
      return recordedCopies.parse(parseJson(readOwnFile(join(this.path, 'settings.recorded.json')).toString()));
    } catch {
      return [];
    }
  }

  #readSettingsFile(): LocalSettings {
    const text = this.#read('settings.json');
    if (text === null) return localSettings.parse({});
    const value = parseJson(text);
    const parsed = localSettings.safeParse(value);
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    throw new BrokenFileError(
      'settings',
      join(this.path, 'settings.json'),
      value === undefined
        ? 'is broken: it is not JSON'
        : `is broken at ${issue?.path.join('.') || 'its top level'}, which ${issue === undefined ? 'is not valid' : issueMessage(issue)}`,
      `${refusedUntilThen} fix it, or remove it and run outrigger-companion settings accept, which switches everything off.`,
    );
  }

  /** The settings without expired permissions. */
  settingsInForce(): LocalSettings {
    return effectiveSettings(this.readSettings(), this.now());
  }

  /** The settings in force. While the file cannot be read, everything is denied, as by a pause. */
  settingsOrPause(): LocalSettings {
    try {
      return this.settingsInForce();
    } catch {
      return localSettings.parse({ paused: true, files: { allowed: false } });
    }
  }

  /** Whether the owner wants sent pictures to be kept. False when the settings cannot be read. */
  get keepsPictures(): boolean {
    try {
      return this.readSettings().capture.keepPictures;
    } catch {
      return false;
    }
  }

  /**
   * Changes the settings in force, and the edit that waits for the owner. A lock serialises changes of several
   * programs. A change that only denies more needs neither the lock nor space on the disk.
   * @param change Called once for the settings in force and once for the waiting edit.
   * @param onChanged Called with the settings before and after the change, before the lock is released.
   * @throws CompanionError when the lock is not free in time, or the folder cannot be written. Nothing changes then.
   */
  async changeSettings(
    change: (settings: LocalSettings) => void,
    onChanged: (settings: LocalSettings, before: LocalSettings) => void = () => undefined,
  ): Promise<LocalSettings> {
    const apply = (settings: LocalSettings) => {
      change(settings);
      return localSettings.parse(settings);
    };
    using _lock = await this.#lockSettings().catch((error: unknown) => {
      const before = this.readSettings();
      if (allowsNoMore(apply(structuredClone(before)), before)) return null;
      throw error;
    });
    const store = this.#currentStore();
    if (store.pairingChange !== null) {
      const inForceNow = store.read();
      if (!allowsNoMore(apply(structuredClone(inForceNow)), inForceNow))
        throw new CompanionError(
          'The pairing of this machine is not the one that the log recorded, so nothing more is allowed. Look at it with outrigger-companion status. Then accept it with outrigger-companion settings accept, or pair again.',
        );
    }
    const { settings, before } = store.change(apply, { mustWrite: this.#store === undefined });
    onChanged(settings, before);
    return store.read();
  }

  /** Replaces an error of the file system by a CompanionError. */
  #withWriteError(write: () => void): void {
    try {
      write();
    } catch (error) {
      if (error instanceof CompanionError) throw error;
      throw new CompanionError(
        `${join(this.path, 'settings.json')} can't be written (${(error as NodeJS.ErrnoException).code ?? 'error'}), so nothing was changed; fix the permissions of its folder, or free space on its disk.`,
        { cause: error },
      );
    }
  }

  /** Identifies the current version of a file. Null when the file does not exist. */
  stampOf(name: 'settings.json' | 'identity.json'): string | null {
    try {
      const { ino, mtimeNs, size } = statSync(join(this.path, name), { bigint: true });
      return `${ino}:${mtimeNs}:${size}`;
    } catch {
      return null;
    }
  }

  /**
   * Renames a file that cannot be read, so that the companion starts without it.
   * @returns the new path. @throws CompanionError when nothing is wrong with the file, or it cannot be renamed.
   */
  async setAside(file: OwnFile): Promise<string> {
    using _lock = await this.#lockSettings();
    const path = join(this.path, `${file}.json`);
    if (!this.#isBroken(file)) throw new CompanionError(`Nothing is wrong with ${path}.`);
    const aside = `${path}.broken-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`;
    try {
      renameSync(path, aside);
    } catch (error) {
      throw new CompanionError(
        `${path} can't be renamed (${(error as NodeJS.ErrnoException).code ?? 'error'}); fix the permissions of its folder.`,
        { cause: error },
      );
    }
    if (file === 'settings') this.#store?.reset();
    return aside;
  }

  async #lockSettings(): Promise<Disposable> {
    const path = join(this.path, 'settings.lock');
    let lock: Disposable | null;
    try {
      lock = await lockFile(path);
    } catch (error) {
      throw new CompanionError(
        `${path} can't be written (${(error as NodeJS.ErrnoException).code ?? 'error'}), so nothing was changed; fix the permissions of its folder, or free space on its disk.`,
        { cause: error },
      );
    }
    if (lock !== null) return lock;
    throw new CompanionError(
      `Another program is changing the settings in ${this.path} and does not finish, so nothing was changed; try again, and if it stays so, remove ${path}.`,
    );
  }

  #isBroken(file: OwnFile): boolean {
    try {
      if (file === 'settings') this.readSettings();
      else this.readPairing();
      return false;
    } catch {
      return true;
    }
  }

  #read(name: 'settings.json' | 'identity.json'): string | null {
    try {
      return readOwnFile(join(this.path, name)).toString();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw new BrokenFileError(
        name === 'identity.json' ? 'identity' : 'settings',
        join(this.path, name),
        `can't be read (${(error as NodeJS.ErrnoException).code ?? 'error'})`,
        !(error instanceof NotAFileError)
          ? 'fix its permissions.'
          : name === 'identity.json'
            ? pairAgain
            : `${refusedUntilThen} remove it, and put the file back or run outrigger-companion settings accept, which switches everything off.`,
        { cause: error },
      );
    }
  }

  /**
   * On a full disk, settings that only deny more are written over the old file. A crash in the middle of it leaves a
   * broken file, which denies everything.
   */
  #writeSettings(settings: LocalSettings): void {
    try {
      this.#write('settings.json', settings);
    } catch (error) {
      if (!isDiskFull(error) || !allowsNoMore(settings, this.#readSettingsFile())) throw error;
      writeOver(join(this.path, 'settings.json'), JSON.stringify(settings));
    }
  }

  #write(name: string, value: unknown): void {
    const path = join(this.path, name);
    const temporary = `${path}.${randomBytes(4).toString('hex')}`;
    try {
      createOwnFile(temporary, `${JSON.stringify(value, null, 2)}\n`);
      renameSync(temporary, path);
    } catch (error) {
      rmSync(temporary, { force: true });
      throw error;
    }
  }
}

/** Whether a file could not be written because its disk or its owner's share of it is full. */
function isDiskFull(error: unknown): boolean {
  for (let at: unknown = error; at instanceof Error; at = at.cause)
    if (['ENOSPC', 'EDQUOT'].includes((at as NodeJS.ErrnoException).code ?? '')) return true;
  return false;
}

/**
 * Replaces the text of a file without a second file, for a text that is not longer.
 * @throws the error of the file system. The file is then unchanged.
 */
function writeOver(path: string, text: string): void {
  const handle = openOwnFile(path, 'change');
  const put = (bytes: Buffer) => {
    for (let done = 0; done < bytes.length;) done += writeSync(handle, bytes, done, bytes.length - done, done);
    ftruncateSync(handle, bytes.length);
    fsyncSync(handle);
  };
  let before: Buffer | undefined;
  try {
    before = readFileSync(handle);
    put(Buffer.from(text));
  } catch (error) {
    if (before !== undefined) put(before);
    throw error;
  } finally {
    closeSync(handle);
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
