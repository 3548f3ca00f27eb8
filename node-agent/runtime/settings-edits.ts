import { createHash } from 'node:crypto';
import { stricterOf } from '../../shared/companion/settings.ts';
import type { LocalSettings } from '../../shared/companion/settings.ts';
import { canonicalJson } from '../../shared/json.ts';

/** Settings as text, for comparison. */
export const textOf = (settings: unknown): string => canonicalJson(JSON.parse(JSON.stringify(settings ?? null)));

/** SHA-256 of settings, in hex. The owner's log records it. */
export const hashOfSettings = (settings: unknown): string =>
  createHash('sha256').update(textOf(settings)).digest('hex');

/** Whether settings allow nothing that the other settings do not allow. */
export const allowsNoMore = (settings: LocalSettings, than: LocalSettings): boolean =>
  textOf(stricterOf(than, settings)) === textOf(settings);

/** When an edit was made that needs the owner's consent, or what makes the settings doubtful. */
export type EditSource = 'running' | 'stopped' | 'log' | 'pairing';

const mismatch =
  'settings.json does not match the log: it was changed while the companion did not run, or the disk was full.';
const needsAccept =
  'What the change denies is in force. What it allows in addition is not in force until you accept it. Your own changes apply to both.';
export const editDetails: Record<EditSource, string> = {
  running: `Another program changed settings.json. ${needsAccept} A restart of the companion discards it.`,
  stopped: `${mismatch} ${needsAccept}`,
  log: 'The log was cut, changed or removed, so the companion cannot tell which settings are yours. Everything is denied until you accept settings.json, or allow each permission again. Your own changes apply also to what you can accept. To replace the log, run outrigger-companion audit set-aside.',
  pairing:
    'identity.json pairs this machine with a hub or node that the log did not record: another program may have replaced the file or removed the log. Everything is denied until you accept the pairing with the settings. To refuse the pairing, pair again: outrigger-companion pair CODE --force --hub URL.',
};

/** The text of the log entry for each kind of edit. */
export const editSummaries: Record<EditSource, string> = {
  running: 'settings.json was changed by another program',
  stopped: 'settings.json does not match the log',
  log: 'the log was changed or cut',
  pairing: 'the pairing is not the one that the log recorded',
};
export const harmlessEditDetail = `${mismatch} The change allows nothing in addition, and is in force.`;

/** Changes of an edit that are shown. */
export const maxChanges = 50;
const maxValueLength = 200;

/** Lists each setting that differs, with both values. */
export function differences(own: LocalSettings, proposed: LocalSettings): string[] {
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
