import { createHash } from 'node:crypto';
import { stricterOf } from '../../shared/companion/settings.ts';
import type { LocalSettings } from '../../shared/companion/settings.ts';
import type { CompanionState } from '../../shared/companion/state.ts';
import { canonicalJson } from '../../shared/json.ts';

const textOf = (settings: LocalSettings): string => canonicalJson(JSON.parse(JSON.stringify(settings)));

/** SHA-256 of settings, in hex, by which the owner's log knows them. */
export const hashOfSettings = (settings: LocalSettings): string =>
  createHash('sha256').update(textOf(settings)).digest('hex');

/** Whether settings allow nothing that other ones do not. */
export const allowsNoMore = (settings: LocalSettings, than: LocalSettings): boolean =>
  textOf(stricterOf(than, settings)) === textOf(settings);

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
  /** Hash of the settings that the owner's log knows; undefined when it knows none. */
  knownHash?: string | undefined;
  /** Called for each edit of another program. */
  onEdit: () => void;
}

/**
 * The settings of a companion that runs, in its memory. Where another program writes the file, what denies more counts at once; what allows more is taken out of the
 * file again and counts only once the owner accepts it. So a program that the companion runs can not give itself anything by writing the file.
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

  constructor(file: SettingsFile, { notBefore = 0, knownHash, onEdit }: HoldOptions) {
    this.#file = file;
    this.#onEdit = onEdit;
    this.#notBefore = Math.max(Date.now(), notBefore);
    this.#seen = file.stamp();
    try {
      this.#own = file.read();
    } catch {
      // Each read says so.
      return;
    }
    this.#foundEdited = knownHash !== undefined && knownHash !== hashOfSettings(this.#own);
    if (this.#foundEdited) onEdit();
  }

  /** The time by a clock that no change of the system's clock turns back, in milliseconds since 1970. */
  now(): number {
    return Math.max(Date.now(), this.#notBefore + performance.now() - this.#startedAt);
  }

  /** Whether the disk has what counts. */
  get isWritten(): boolean {
    return this.#isWritten;
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
        changes: this.#own === null ? [] : differences(this.#own, this.#proposed),
        detail:
          'Another program changed settings.json. What it denies counts already; what it allows does not count unless you accept it. The next change of a setting drops it.',
      };
    return this.#foundEdited
      ? {
          needsConsent: false,
          changes: [],
          detail:
            'settings.json was changed while the companion did not run, and counts as it is now: look through your permissions.',
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

  /** Lets what another program wrote count. @throws the error of the file system. */
  accept(): LocalSettings {
    const next = this.#look();
    const accepted = this.#proposed ?? next;
    this.#write(accepted);
    this.#take(accepted);
    return structuredClone(accepted);
  }

  /** Begins with what the file says now. */
  reset(): void {
    this.#seen = this.#file.stamp();
    this.#take(this.#file.read());
    this.#isWritten = true;
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

  #take(settings: LocalSettings): void {
    this.#own = structuredClone(settings);
    this.#proposed = undefined;
    this.#foundEdited = false;
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
      // Nothing was allowed until now, so that no program of a workflow can have written it.
      this.#own = this.#file.read();
      this.#seen = stamp;
    }
    // What could not be written is not what the file says.
    if (stamp === this.#seen || !this.#isWritten) return this.#own;
    const found = this.#file.read();
    this.#seen = stamp;
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
