import { createHash } from 'node:crypto';
import { stricterOf } from '../../shared/companion/settings.ts';
import type { LocalSettings } from '../../shared/companion/settings.ts';
import type { CompanionState } from '../../shared/companion/state.ts';
import { canonicalJson } from '../../shared/json.ts';
import { localSettings } from './settings.ts';

const textOf = (settings: unknown): string => canonicalJson(JSON.parse(JSON.stringify(settings ?? null)));

/** SHA-256 of settings, in hex, by which the owner's log knows them. */
export const hashOfSettings = (settings: unknown): string =>
  createHash('sha256').update(textOf(settings)).digest('hex');

/** Whether settings allow nothing that other ones do not. */
export const allowsNoMore = (settings: LocalSettings, than: LocalSettings): boolean =>
  textOf(stricterOf(than, settings)) === textOf(settings);

/** Settings that deny everything that an owner can deny. */
const safestSettings = (): LocalSettings =>
  localSettings.parse({ files: { allowed: false }, system: { ask: true }, browser: { evaluate: false } });

const maxChanges = 50;
const maxValueLength = 200;

/** Names each setting that differs, with both values. */
function differences(own: LocalSettings, proposed: LocalSettings): string[] {
  const shorten = (value: unknown) => {
    const text = JSON.stringify(value) ?? 'not set';
    return text.length > maxValueLength ? `${text.slice(0, maxValueLength)}…` : text;
  };
  const isGroup = (value: unknown): value is object =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  const compare = (path: string, before: unknown, after: unknown): string[] => {
    if (isGroup(before) && isGroup(after)) {
      const [old, next] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
      return [...new Set([...old.keys(), ...next.keys()])].flatMap((name) =>
        compare(path === '' ? name : `${path}.${name}`, old.get(name), next.get(name)),
      );
    }
    const [old, next] = [shorten(before), shorten(after)];
    return JSON.stringify(before) === JSON.stringify(after) ? [] : [`${path}: ${old} → ${next}`];
  };
  return compare('', own, proposed).slice(0, maxChanges);
}

/** What a data folder does for the settings that are held of it. */
interface SettingsFile {
  /** Tells one writing of the file from another. */
  stamp: () => string | null;
  /** @throws BrokenFileError when the file can not be read as settings. */
  read: () => LocalSettings;
  /** @throws the error of the file system; the file is as it was then. */
  write: (settings: LocalSettings) => void;
}

export interface HoldOptions {
  /** When the owner's log was last written, in milliseconds since 1970: a clock that was turned back since does not count. */
  notBefore?: number;
  /** The settings that the owner's log recorded last; undefined when none were recorded before, as at the first start. */
  recorded?: RecordedSettings | undefined;
  /** Called when something other than the owner's own change altered what is in force. */
  onEdit: () => void;
}

/** The settings that the owner's log recorded last. */
export interface RecordedSettings {
  /** Null when the log has no hash although settings were recorded before: the log was removed or replaced. */
  hash: string | null;
  /** The settings with this hash; null when no copy of them is left. */
  settings: LocalSettings | null;
}

/** Where settings come from that allow more than the companion accepts. */
type EditSource = 'running' | 'stopped' | 'log';

const needsAccept =
  'What the file denies is in force. What it allows in addition is not in force until you accept it. The next change of a setting discards it.';
const editDetails: Record<EditSource, string> = {
  running: `Another program changed settings.json. ${needsAccept}`,
  stopped: `settings.json was changed while the companion did not run. ${needsAccept}`,
  log: 'The log was cut, changed or removed, so the companion cannot tell which settings are yours. Everything is denied until you accept settings.json as it is now, or allow each permission again. To replace the log: outrigger-companion audit set-aside',
};

/**
 * The settings in force, kept in memory. A change of the file by another program takes effect immediately where it denies more. What it allows in addition
 * takes effect only after the owner accepts it. The same rule applies at the start, compared with the settings that the owner's log recorded last. So a program
 * that the companion runs cannot allow itself anything by writing the file, also when it ends the companion.
 */
export class HeldSettings {
  readonly #file: SettingsFile;
  readonly #onEdit: () => void;
  readonly #startedAt = performance.now();
  readonly #notBefore: number;
  /** What counts; null until the file could be read, while everything is denied. */
  #own: LocalSettings | null = null;
  /** What another program wrote that allows more. */
  #proposed: LocalSettings | undefined;
  #seen: string | null;
  #isWritten = true;
  /** Whether the file was another one at the start than when the owner's log was last written. */
  #foundEdited = false;
  #source: EditSource = 'running';
  /** What the first readable settings of the file are compared with; undefined when none were recorded. */
  readonly #recorded: RecordedSettings | undefined;

  constructor(file: SettingsFile, { notBefore = 0, recorded, onEdit }: HoldOptions) {
    this.#file = file;
    this.#onEdit = onEdit;
    this.#recorded = recorded;
    this.#notBefore = Math.max(Date.now(), notBefore);
    this.#seen = file.stamp();
    try {
      this.#begin(file.read());
    } catch {
      // Each read reports the error.
    }
  }

  /** The time by a clock that no change of the system's clock turns back, in milliseconds since 1970. */
  now(): number {
    return Math.max(Date.now(), this.#notBefore + performance.now() - this.#startedAt);
  }

  /** Whether the disk has what counts. */
  get isWritten(): boolean {
    return this.#isWritten;
  }

  /** What counted at the last look at the file; null while the file could not be read. */
  get current(): LocalSettings | null {
    return this.#own;
  }

  /** Whether the file differed at the start, and what is in force is not what the log recorded last. */
  get needsRecord(): boolean {
    return this.#foundEdited && this.#isUnrecorded;
  }

  /** A start that finds the same edit again has nothing new to record. */
  get #isUnrecorded(): boolean {
    return this.#own !== null && this.#recorded?.hash !== hashOfSettings(this.#own);
  }

  /** What counts now. @throws BrokenFileError while the file can not be read as settings. */
  read(): LocalSettings {
    return structuredClone(this.#look());
  }

  /** What another program did to the file; null when nothing. */
  get edited(): CompanionState['edited'] {
    if (this.#proposed !== undefined)
      return {
        needsConsent: true,
        hash: hashOfSettings(this.#proposed),
        changes: this.#own === null ? [] : differences(this.#own, this.#proposed),
        detail: editDetails[this.#source],
      };
    return this.#foundEdited
      ? {
          needsConsent: false,
          hash: this.#own === null ? null : hashOfSettings(this.#own),
          changes: [],
          detail:
            'settings.json was changed while the companion did not run. The change allows nothing in addition, and is in force.',
        }
      : null;
  }

  /**
   * Takes what the owner says now. What denies more counts even where the disk does not take it.
   * @throws the error of the file system for what allows more; nothing changes then.
   */
  change(next: LocalSettings): void {
    const tightens = allowsNoMore(next, this.#look());
    if (tightens) this.#take(next);
    try {
      this.#write(next);
    } catch (error) {
      if (!tightens) throw error;
      this.#isWritten = false;
    }
    if (!tightens) this.#take(next);
  }

  /**
   * Puts in force what another program wrote.
   * @param seen Hash of the edit that the owner saw. Null is answered, and nothing changes, when the file was edited again since.
   * @throws the error of the file system.
   */
  accept(seen?: string): LocalSettings | null {
    const next = this.#look();
    const accepted = this.#proposed ?? next;
    if (seen !== undefined && seen !== hashOfSettings(accepted)) return null;
    this.#write(accepted);
    this.#take(accepted);
    return structuredClone(accepted);
  }

  /**
   * Denies everything until the owner accepts, because the log does not prove any more which settings are the owner's. The file stays as it is, so that a later
   * start finds it again. What the owner accepted stays in force.
   */
  distrust(): void {
    this.#source = 'log';
    if (this.#own === null) return;
    const found = this.#proposed ?? this.#own;
    this.#own = stricterOf(safestSettings(), this.#own);
    this.#proposed = allowsNoMore(found, this.#own) ? undefined : found;
    if (this.#isUnrecorded) this.#onEdit();
  }

  /** Begins with what the file says now. */
  reset(): void {
    this.#seen = this.#file.stamp();
    this.#take(this.#file.read());
    this.#isWritten = true;
  }

  /** Replaces the file by what is in force. A later start does not find what waits for the owner then. */
  persist(): void {
    this.#isWritten = false;
    this.retry();
  }

  /** Writes what the disk did not take before. */
  retry(): void {
    if (this.#isWritten || this.#own === null) return;
    try {
      this.#write(this.#own);
    } catch {
      // It is tried again.
    }
  }

  /** Puts the first readable settings of the file in force as far as the recorded settings allow them. The file stays as it is. */
  #begin(found: LocalSettings): LocalSettings {
    const { hash, settings } = this.#recorded ?? {};
    const isDistrusted = this.#source === 'log' || hash === null;
    if (!isDistrusted && (hash === undefined || hash === hashOfSettings(found))) {
      this.#own = found;
      return found;
    }
    this.#source = isDistrusted ? 'log' : 'stopped';
    this.#own = stricterOf((isDistrusted ? null : settings) ?? safestSettings(), found);
    this.#proposed = allowsNoMore(found, this.#own) ? undefined : found;
    this.#foundEdited = true;
    return this.#own;
  }

  #take(settings: LocalSettings): void {
    this.#own = structuredClone(settings);
    this.#proposed = undefined;
    this.#foundEdited = false;
    this.#source = 'running';
  }

  #write(settings: LocalSettings): void {
    this.#file.write(settings);
    this.#seen = this.#file.stamp();
    this.#isWritten = true;
  }

  /** Answers what counts, after a look at the file. */
  #look(): LocalSettings {
    const stamp = this.#file.stamp();
    if (this.#own === null) {
      const found = this.#file.read();
      this.#seen = stamp;
      const own = this.#begin(found);
      if (this.#isUnrecorded) this.#onEdit();
      return own;
    }
    // What could not be written is not what the file says.
    if (stamp === this.#seen || !this.#isWritten) return this.#own;
    const found = this.#file.read();
    this.#seen = stamp;
    if (this.#source === 'stopped') this.#source = 'running';
    // The newest edit replaces an earlier one that still waits for the owner.
    this.#proposed = allowsNoMore(found, this.#own) ? undefined : found;
    if (textOf(found) === textOf(this.#own)) return this.#own;
    this.#own = stricterOf(this.#own, found);
    if (this.#proposed !== undefined) {
      this.#isWritten = false;
      this.retry();
    }
    this.#onEdit();
    return this.#own;
  }
}
