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

/** Settings that deny everything that the owner can deny. */
const safestSettings = (): LocalSettings =>
  localSettings.parse({ files: { allowed: false }, system: { ask: true }, browser: { evaluate: false } });

/** The settings file of a data folder. */
interface SettingsFile {
  /** Identifies the current version of the file. */
  stamp: () => string | null;
  /** @throws BrokenFileError when the file has no valid settings. */
  read: () => LocalSettings;
  /** @throws an error when the file cannot be written. The file is then unchanged. */
  write: (settings: LocalSettings) => void;
}

export interface SettingsStoreOptions {
  /** When the owner's log was last written, in milliseconds since 1970. Time never goes back before it. */
  notBefore?: number;
  /** The settings that the owner's log recorded last. Undefined when none were recorded, as at the first start. */
  recorded?: RecordedSettings | undefined;
  /** A pairing that the log did not record: everything is denied until the owner accepts it. */
  pairingChange?: PairingChange | null;
  /** Called when something other than a change of the owner altered the settings in force. */
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
  /** Null when the log was removed or replaced: it has no hash although settings were recorded before. */
  hash: string | null;
  /** The settings with this hash. Null when no copy of them exists. */
  settings: LocalSettings | null;
}

/**
 * Keeps the settings in force in memory. When another program edits the file, what the edit denies takes effect
 * immediately; what it allows in addition takes effect only after the owner accepts it. At the start, the file is
 * compared in the same way with the settings that the owner's log recorded last. So a program that the companion runs
 * cannot allow itself anything by editing the file, even if it ends the companion.
 */
export class SettingsStore {
  readonly #file: SettingsFile;
  readonly #onEdit: () => void;
  readonly #startedAt = performance.now();
  readonly #notBefore: number;
  /** The owner's settings, in force unless a pairing waits. Null until the file was read; everything is denied then. */
  #own: LocalSettings | null = null;
  /** Settings of the file that allow more than those in force. They wait until the owner accepts or discards them. */
  #proposed: LocalSettings | undefined;
  /** Whether the file has the waiting settings, so that a later start finds them. Otherwise it has those in force. */
  #fileKeepsProposed = false;
  #lastStamp: string | null;
  #isWritten = true;
  /** Whether the file at the start did not match the owner's log. */
  #foundEdited = false;
  #source: EditSource = 'running';
  #pairingChange: PairingChange | null;
  /** The first readable settings of the file are compared with these. Undefined when none were recorded. */
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

  /** The time, in milliseconds since 1970. A change of the system's clock cannot turn it back. */
  now(): number {
    return Math.max(Date.now(), this.#notBefore + performance.now() - this.#startedAt);
  }

  /** Whether the file has the current settings. False after a failed write. */
  get isWritten(): boolean {
    return this.#isWritten;
  }

  /** The owner's settings at the last check of the file, as the log records them. Null until the file was read. */
  get current(): LocalSettings | null {
    return this.#own;
  }

  /** Whether the file did not match the log at the start, and the settings in force are not recorded in the log. */
  get needsRecord(): boolean {
    return this.#foundEdited && this.#isUnrecorded;
  }

  /** False when a start finds the same edit again, so that it is not recorded twice. */
  get #isUnrecorded(): boolean {
    return this.#own !== null && this.#recorded?.hash !== hashOfSettings(this.#own);
  }

  /** The settings in force; everything is denied while a pairing waits. @throws BrokenFileError for an invalid file. */
  read(): LocalSettings {
    return structuredClone(this.#effectiveSettings(this.#refresh()));
  }

  #effectiveSettings(own: LocalSettings): LocalSettings {
    return this.#pairingChange === null ? own : stricterOf(safestSettings(), own);
  }

  /** The text of the last edit for the log. */
  get editSummary(): string {
    return editSummaries[this.#pairingChange === null ? this.#source : 'pairing'];
  }

  /** A pairing that waits for the owner to accept it; null when none does. */
  get pairingChange(): PairingChange | null {
    return this.#pairingChange;
  }

  /** The edit of another program that is shown to the owner; null when there is none. */
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
   * Applies a change of the owner to the settings in force, and to those that wait if it can be applied to them. A
   * change that only denies takes effect also when the file cannot be written.
   * @param mustWrite Whether every change must be written, because this process ends.
   * @returns the owner's settings, after and before the change.
   * @throws the error of the change or of the file system. Nothing changes then.
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
   * Puts the waiting settings and pairing in force.
   * @param seenHash Hash of the edit that the owner saw.
   * @returns null, without a change, when the file was edited again since. @throws the error of the file system.
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

  /** Drops the waiting settings, and writes those in force to the file. @throws the error of the file system. */
  discard(): LocalSettings {
    const own = this.#refresh();
    this.#write(own);
    this.#apply(own);
    return structuredClone(own);
  }

  /**
   * Denies everything until the owner accepts the settings, because the log no longer proves which settings are the
   * owner's. The file stays unchanged, so that a later start finds the settings again.
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

  /** Drops a waiting pairing, because the owner paired the machine again. The owner's settings are in force again. */
  trustPairing(): void {
    this.#pairingChange = null;
  }

  /** The hash of what the owner accepts: the settings, and the pairing if one waits. */
  #hashToAccept(settings: LocalSettings): string {
    const pairing = this.#pairingChange?.pairing;
    return hashOfSettings(pairing === undefined ? settings : { settings, pairing });
  }

  /** Puts the file in force as it is now. */
  reset(): void {
    this.#lastStamp = this.#file.stamp();
    this.#apply(this.#file.read());
    this.#isWritten = true;
  }

  /** Writes the settings in force to the file. A later start then does not find the waiting settings. */
  persist(): void {
    this.#fileKeepsProposed = false;
    this.#isWritten = false;
    this.retry();
  }

  /** Writes the file again after a failed write. */
  retry(): void {
    if (this.#isWritten || this.#own === null) return;
    try {
      this.#write((this.#fileKeepsProposed ? this.#proposed : undefined) ?? this.#own);
    } catch {
      // The next call tries again.
    }
  }

  /** Puts the first readable settings in force, as far as the recorded settings allow them. The file is not changed. */
  #initialize(found: LocalSettings): LocalSettings {
    const { hash, settings } = this.#recorded ?? {};
    // A log that records neither settings nor the pairing may have been removed.
    const isUnknown = hash === undefined && this.#pairingChange !== null;
    const isDistrusted = this.#source === 'log' || hash === null || isUnknown;
    // An earlier version recorded the hash without the settings that this version adds with their defaults.
    const recordedHashes = [hash, ...(settings ? [hashOfSettings(settings)] : [])];
    if (!isDistrusted && (hash === undefined || recordedHashes.includes(hashOfSettings(found)))) {
      this.#own = found;
      return found;
    }
    this.#source = isDistrusted ? 'log' : 'stopped';
    this.#own = stricterOf((isDistrusted ? null : settings) ?? safestSettings(), found);
    this.#propose(found, this.#own);
    this.#foundEdited = true;
    return this.#own;
  }

  /** Offers the settings of the file to the owner if they allow more than those in force. The file keeps them. */
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

  /** Checks the file for edits. @returns the owner's settings. */
  #refresh(): LocalSettings {
    const stamp = this.#file.stamp();
    if (this.#own === null) {
      const found = this.#file.read();
      this.#lastStamp = stamp;
      const own = this.#initialize(found);
      if (this.#isUnrecorded) this.#onEdit();
      return own;
    }
    // After a failed write, the file is outdated and is not read.
    if (stamp === this.#lastStamp || !this.#isWritten) return this.#own;
    const found = this.#file.read();
    this.#lastStamp = stamp;
    const own = stricterOf(this.#own, found);
    // While the file has the waiting settings, a narrower file comes from the owner's change without the companion.
    const narrows = this.#fileKeepsProposed && this.#proposed !== undefined && allowsNoMore(found, this.#proposed);
    // Any other edit replaces an earlier one that waits for the owner.
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

/** Applies a change to settings. Returns them unchanged when the change fails. */
function applyIfPossible(settings: LocalSettings, apply: (settings: LocalSettings) => LocalSettings): LocalSettings {
  try {
    return apply(structuredClone(settings));
  } catch {
    return settings;
  }
}
