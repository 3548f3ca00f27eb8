import { stricterOf } from '../../shared/companion/settings.ts';
import type { LocalSettings } from '../../shared/companion/settings.ts';
import type { CompanionState } from '../../shared/companion/state.ts';
import type { RecordedPairing } from './audit-line.ts';
import {
  allowsNoMore,
  differences,
  editDetails,
  editSummaries,
  harmlessEditDetail,
  hashOfSettings,
  maxChanges,
  textOf,
} from './settings-edits.ts';
import type { EditSource } from './settings-edits.ts';
import { localSettings } from './settings.ts';

/** Settings that deny everything that an owner can deny. */
const safestSettings = (): LocalSettings =>
  localSettings.parse({ files: { allowed: false }, system: { ask: true }, browser: { evaluate: false } });

/** What a data folder does for the settings that are held of it. */
interface SettingsFile {
  /** Tells one writing of the file from another. */
  stamp: () => string | null;
  /** @throws BrokenFileError when the file can not be read as settings. */
  read: () => LocalSettings;
  /** @throws an error when the file cannot be written; the file is as it was then. */
  write: (settings: LocalSettings) => void;
}

export interface SettingsStoreOptions {
  /** When the owner's log was last written, in milliseconds since 1970: a clock that was turned back since does not count. */
  notBefore?: number;
  /** The settings that the owner's log recorded last; undefined when none were recorded before, as at the first start. */
  recorded?: RecordedSettings | undefined;
  /** A pairing that the log did not record: everything is denied until the owner accepts it. */
  pairingChange?: PairingChange | null;
  /** Called when something other than the owner's own change altered what is in force. */
  onEdit: () => void;
}

/** A pairing that is not the one that the owner's log recorded last. */
export interface PairingChange {
  pairing: NonNullable<RecordedPairing>;
  /** Both pairings in words. */
  text: string;
}

/** The settings that the owner's log recorded last. */
export interface RecordedSettings {
  /** Null when the log has no hash although settings were recorded before: the log was removed or replaced. */
  hash: string | null;
  /** The settings with this hash; null when no copy of them is left. */
  settings: LocalSettings | null;
}

/**
 * The settings in force, kept in memory. A change of the file by another program takes effect immediately where it denies more. What it allows in addition
 * takes effect only after the owner accepts it. The same rule applies at the start, compared with the settings that the owner's log recorded last. So a program
 * that the companion runs cannot allow itself anything by writing the file, also when it ends the companion.
 */
export class SettingsStore {
  readonly #file: SettingsFile;
  readonly #onEdit: () => void;
  readonly #startedAt = performance.now();
  readonly #notBefore: number;
  /** The owner's settings, which are in force unless a pairing waits; null until the file could be read, while everything is denied. */
  #own: LocalSettings | null = null;
  /** Settings of the file that allow more than what is in force. They wait until the owner accepts or discards them. */
  #proposed: LocalSettings | undefined;
  /** Whether the file keeps what waits, so that a later start finds it again. Otherwise the file has what is in force. */
  #fileKeepsProposed = false;
  #lastStamp: string | null;
  #isWritten = true;
  /** Whether the file was another one at the start than when the owner's log was last written. */
  #foundEdited = false;
  #source: EditSource = 'running';
  #pairingChange: PairingChange | null;
  /** What the first readable settings of the file are compared with; undefined when none were recorded. */
  readonly #recorded: RecordedSettings | undefined;

  constructor(file: SettingsFile, { notBefore = 0, recorded, pairingChange = null, onEdit }: SettingsStoreOptions) {
    this.#file = file;
    this.#onEdit = onEdit;
    this.#recorded = recorded;
    this.#pairingChange = pairingChange;
    this.#notBefore = Math.max(Date.now(), notBefore);
    this.#lastStamp = file.stamp();
    try {
      this.#initialize(file.read());
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

  /** The owner's settings at the last look at the file, as the log records them; null while the file could not be read. */
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

  /** The settings in force: everything is denied while a pairing waits. @throws BrokenFileError while the file can not be read as settings. */
  read(): LocalSettings {
    return structuredClone(this.#effectiveSettings(this.#refresh()));
  }

  #effectiveSettings(own: LocalSettings): LocalSettings {
    return this.#pairingChange === null ? own : stricterOf(safestSettings(), own);
  }

  /** The last edit, as the log names it. */
  get editSummary(): string {
    return editSummaries[this.#pairingChange === null ? this.#source : 'pairing'];
  }

  /** A pairing that waits for the owner; null when none does. */
  get pairingChange(): PairingChange | null {
    return this.#pairingChange;
  }

  /** What another program did to the file; null when nothing. */
  get edited(): CompanionState['edited'] {
    const toAccept = this.#proposed ?? this.#own;
    if (this.#proposed !== undefined || this.#pairingChange !== null)
      return {
        needsConsent: true,
        hash: toAccept === null ? null : this.#hashToAccept(toAccept),
        pairing: this.#pairingChange !== null,
        changes: [
          ...(this.#pairingChange === null ? [] : [this.#pairingChange.text]),
          ...(this.#own === null || toAccept === null ? [] : differences(this.#effectiveSettings(this.#own), toAccept)),
        ].slice(0, maxChanges),
        detail: editDetails[this.#pairingChange === null ? this.#source : 'pairing'],
      };
    return this.#foundEdited
      ? {
          needsConsent: false,
          hash: this.#own === null ? null : hashOfSettings(this.#own),
          pairing: false,
          changes: [],
          detail: harmlessEditDetail,
        }
      : null;
  }

  /**
   * Applies a change of the owner to what is in force, and to what waits. What the change cannot be applied to keeps waiting as it is. A change that only denies
   * takes effect also when the disk does not take it.
   * @param mustWrite Whether the change needs the disk in any case, because this process ends.
   * @returns the owner's settings, after and before the change. @throws the error of the change or of the file system; nothing changes then.
   */
  change(
    apply: (settings: LocalSettings) => LocalSettings,
    { mustWrite = false } = {},
  ): { settings: LocalSettings; before: LocalSettings } {
    const before = structuredClone(this.#refresh());
    const settings = apply(structuredClone(before));
    const changedProposal = this.#proposed === undefined ? undefined : applyIfPossible(this.#proposed, apply);
    const proposed =
      changedProposal === undefined || allowsNoMore(changedProposal, settings) ? undefined : changedProposal;
    const tightens = allowsNoMore(settings, before);
    if (tightens) this.#apply(settings, proposed);
    try {
      this.#write(proposed !== undefined && this.#fileKeepsProposed ? proposed : settings);
    } catch (error) {
      if (!tightens || mustWrite) throw error;
      this.#isWritten = false;
    }
    if (!tightens) this.#apply(settings, proposed);
    return { settings: structuredClone(settings), before };
  }

  /**
   * Puts in force what another program wrote.
   * @param seen Hash of the edit that the owner saw. Returns null, and changes nothing, when the file was edited again since.
   * @throws the error of the file system.
   */
  accept(seenHash?: string): LocalSettings | null {
    const next = this.#refresh();
    const accepted = this.#proposed ?? next;
    if (seenHash !== undefined && seenHash !== this.#hashToAccept(accepted)) return null;
    this.#write(accepted);
    this.#pairingChange = null;
    this.#apply(accepted);
    return structuredClone(accepted);
  }

  /** Drops what waits, and replaces the file by what is in force. @throws the error of the file system. */
  discard(): LocalSettings {
    const own = this.#refresh();
    this.#write(own);
    this.#apply(own);
    return structuredClone(own);
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
    this.#propose(found, this.#own);
    if (this.#isUnrecorded) this.#onEdit();
  }

  /** Denies everything until the owner accepts a pairing that the log did not record. */
  distrustPairing(change: PairingChange): void {
    if (this.#pairingChange?.text === change.text) return;
    this.#pairingChange = change;
    this.#onEdit();
  }

  /** Forgets a pairing that waits, because the owner made another one. The owner's settings are in force again. */
  trustPairing(): void {
    this.#pairingChange = null;
  }

  /** Identifies what the owner accepts: the settings, and the pairing if one waits. */
  #hashToAccept(settings: LocalSettings): string {
    const pairing = this.#pairingChange?.pairing;
    return hashOfSettings(pairing === undefined ? settings : { settings, pairing });
  }

  /** Begins with what the file says now. */
  reset(): void {
    this.#lastStamp = this.#file.stamp();
    this.#apply(this.#file.read());
    this.#isWritten = true;
  }

  /** Replaces the file by what is in force. A later start does not find what waits for the owner then. */
  persist(): void {
    this.#fileKeepsProposed = false;
    this.#isWritten = false;
    this.retry();
  }

  /** Writes what the disk did not take before. */
  retry(): void {
    if (this.#isWritten || this.#own === null) return;
    try {
      this.#write((this.#fileKeepsProposed ? this.#proposed : undefined) ?? this.#own);
    } catch {
      // It is tried again.
    }
  }

  /** Puts the first readable settings of the file in force as far as the recorded settings allow them. The file stays as it is. */
  #initialize(found: LocalSettings): LocalSettings {
    const { hash, settings } = this.#recorded ?? {};
    // A log that records neither settings nor the pairing may have been removed.
    const isUnknown = hash === undefined && this.#pairingChange !== null;
    const isDistrusted = this.#source === 'log' || hash === null || isUnknown;
    if (!isDistrusted && (hash === undefined || hash === hashOfSettings(found))) {
      this.#own = found;
      return found;
    }
    this.#source = isDistrusted ? 'log' : 'stopped';
    this.#own = stricterOf((isDistrusted ? null : settings) ?? safestSettings(), found);
    this.#propose(found, this.#own);
    this.#foundEdited = true;
    return this.#own;
  }

  /** Offers the settings of the file to the owner, if they allow more than what is in force. The file keeps them. */
  #propose(found: LocalSettings, own: LocalSettings): void {
    this.#proposed = allowsNoMore(found, own) ? undefined : found;
    this.#fileKeepsProposed = this.#proposed !== undefined;
  }

  #apply(settings: LocalSettings, proposed?: LocalSettings): void {
    this.#own = structuredClone(settings);
    this.#proposed = proposed;
    if (proposed !== undefined) return;
    this.#fileKeepsProposed = false;
    this.#foundEdited = false;
    this.#source = 'running';
  }

  #write(settings: LocalSettings): void {
    this.#file.write(settings);
    this.#lastStamp = this.#file.stamp();
    this.#isWritten = true;
  }

  /** Answers what counts, after a look at the file. */
  #refresh(): LocalSettings {
    const stamp = this.#file.stamp();
    if (this.#own === null) {
      const found = this.#file.read();
      this.#lastStamp = stamp;
      const own = this.#initialize(found);
      if (this.#isUnrecorded) this.#onEdit();
      return own;
    }
    // What could not be written is not what the file says.
    if (stamp === this.#lastStamp || !this.#isWritten) return this.#own;
    const found = this.#file.read();
    this.#lastStamp = stamp;
    const own = stricterOf(this.#own, found);
    // A file that keeps what waits may only lose permissions, as when the owner denies something without the companion.
    const narrows = this.#fileKeepsProposed && this.#proposed !== undefined && allowsNoMore(found, this.#proposed);
    // Any other edit replaces an earlier one that still waits for the owner.
    this.#propose(found, this.#own);
    if (textOf(narrows ? own : found) === textOf(this.#own)) return this.#own;
    this.#own = own;
    if (!narrows) {
      if (this.#source === 'stopped') this.#source = 'running';
      this.#fileKeepsProposed = false;
      if (this.#proposed !== undefined) {
        this.#isWritten = false;
        this.retry();
      }
    }
    this.#onEdit();
    return this.#own;
  }
}

/** Settings with a change; as they are when the change cannot be applied to them. */
function applyIfPossible(settings: LocalSettings, apply: (settings: LocalSettings) => LocalSettings): LocalSettings {
  try {
    return apply(structuredClone(settings));
  } catch {
    return settings;
  }
}
