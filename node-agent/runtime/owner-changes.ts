import { randomUUID } from 'node:crypto';
import { existsSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, relative } from 'node:path';
import { isRiskyVariable, riskyVariableWarning, wideShareWarning } from '../../shared/companion/consent-warnings.ts';
import type { OwnerChange } from '../../shared/companion/control.ts';
import { allowedVariable, maxRules, maxVariables, setAllowed } from '../../shared/companion/settings.ts';
import type { LocalSettings, ProgramRule } from '../../shared/companion/settings.ts';
import { AuditLog } from './audit.ts';
import { parsePrivateEntry } from './commands/browser/addresses.ts';
import { hostOfPattern } from './commands/browser/host-patterns.ts';
import { isInside, isOfCompanion } from './commands/files.ts';
import { CompanionError } from './data-folder.ts';
import type { DataFolder } from './data-folder.ts';
import { wordsOf } from './program-rules.ts';

const inMinutes = (minutes: number | undefined, now: number) =>
  minutes === undefined ? null : new Date(now + minutes * 60_000).toISOString();

/**
 * Applies one change of the owner, completely or not at all.
 * @throws CompanionError that says what is wrong with it.
 */
export async function changeSettings(
  folder: DataFolder,
  change: OwnerChange,
  now = folder.now(),
  audit = new AuditLog(folder.audit),
): Promise<LocalSettings> {
  if (change.change === 'accept_settings' || change.change === 'discard_settings') {
    const { settings, changes, pairing } =
      change.change === 'accept_settings'
        ? folder.acceptSettings(change.seen)
        : { ...folder.discardSettings(), pairing: null };
    // The count comes first, because the log shortens a long list.
    const words = changes.length === 0 ? '' : ` (${changes.length} changes): ${changes.join('; ')}`;
    audit.note('owner.change', `${change.change.replaceAll('_', ' ')}${words}`, {
      ...recordSettingsHash(folder, settings),
      ...(pairing === null ? {} : { pairing }),
    });
    return settings;
  }
  // The rule has the same ID in the settings in force and in the edit that waits.
  const ruleId = randomUUID();
  if (change.change === 'share') assertNoDataFolder(change.path, folder);
  return folder.changeSettings(
    (current) => apply(current, change, now, ruleId),
    (settings, before) => {
      // Pausing a paused companion changes nothing, so it is not logged.
      if (JSON.stringify(settings) !== JSON.stringify(before))
        audit.note('owner.change', describeChange(change), recordSettingsHash(folder, settings));
    },
  );
}

/** @throws CompanionError for a path in the data folder of this companion or another one. */
function assertNoDataFolder(path: string, folder: DataFolder): void {
  const real = existsSync(path) ? realpathSync(path) : path;
  if (isInside(realpathSync(folder.path), real) || isOfCompanion(real))
    throw new CompanionError(
      `${path} is in the data folder of a companion, which holds its keys and is never shared. Share another folder.`,
    );
}

/** Stores the settings in force and returns their hash, for the log entry of their change. */
export function recordSettingsHash(folder: DataFolder, effectiveSettings?: LocalSettings): { settings?: string } {
  const settings = folder.recordSettings(effectiveSettings);
  return settings === undefined ? {} : { settings };
}

/** A change of the owner in words, for the owner's log. */
function describeChange({ change, ...rest }: OwnerChange): string {
  const words = Object.entries(rest).map(([name, value]) =>
    typeof value === 'string' ? value : name === change ? JSON.stringify(value) : `${name} ${JSON.stringify(value)}`,
  );
  return [change.replaceAll('_', ' '), ...words].join(' ');
}

/** Adds a rule about programs. It replaces an equal or contrary rule, and expired rules are removed. */
export function addRule(settings: LocalSettings, rule: Omit<ProgramRule, 'createdAt'>, now: number): void {
  const { rules } = settings.system;
  settings.system.rules = [
    ...rules.filter(
      ({ decision, pattern, exact, folder, until }) =>
        (until === null || Date.parse(until) > now) &&
        !(pattern === rule.pattern && exact === rule.exact && (folder === rule.folder || decision !== rule.decision)),
    ),
    { ...rule, createdAt: new Date(now).toISOString() },
  ];
  if (settings.system.rules.length > maxRules)
    throw new CompanionError(`There are ${maxRules} rules already; remove some: outrigger-companion rules remove ID`);
}

/** Whether a real path is the home folder, a folder that contains it, or a whole drive. */
export function isWideFolder(real: string): boolean {
  const relativePath = relative(real, realpathSync(homedir()));
  return dirname(real) === real || (!relativePath.startsWith('..') && !isAbsolute(relativePath));
}

/** Applies a change to a list. @throws CompanionError when an entry to remove is not in the list. */
function changeList(
  list: string[],
  named: string[] | undefined,
  mode: 'add' | 'remove' | 'replace' = 'replace',
): string[] {
  if (named === undefined) return list;
  if (mode === 'replace') return named;
  if (mode === 'add') return [...new Set([...list, ...named])];
  const unknown = named.find((entry) => !list.includes(entry));
  if (unknown !== undefined)
    throw new CompanionError(`${unknown} is not in the list, which has ${list.join(', ') || 'no entry'}.`);
  return list.filter((entry) => !named.includes(entry));
}

/** The real path of the folder of a rule. @throws CompanionError when there is no such folder. */
function ruleFolder(path: string): string {
  if (!isAbsolute(path)) throw new CompanionError(`folder: write an absolute path (it is ${path}).`);
  if (!existsSync(path) || !statSync(path).isDirectory()) throw new CompanionError(`folder: ${path} is not a folder.`);
  return realpathSync(path);
}

function apply(settings: LocalSettings, change: OwnerChange, now: number, ruleId: string): void {
  switch (change.change) {
    case 'pause':
    case 'resume':
      settings.paused = change.change === 'pause';
      return;
    case 'allow':
      setAllowed(settings, change.power, true, inMinutes(change.minutes, now) ?? undefined);
      if (change.power === 'browser') settings.browser.withoutSandbox = change.withoutSandbox === true;
      if (change.power === 'system') settings.system.ask = change.withoutAsking !== true;
      return;
    case 'deny':
      setAllowed(settings, change.power, false);
      if (change.power === 'browser') settings.browser.withoutSandbox = false;
      return;
    case 'share': {
      if (!isAbsolute(change.path) || statSync(change.path, { throwIfNoEntry: false })?.isDirectory() !== true)
        throw new CompanionError(`${change.path} is not a folder.`);
      const real = realpathSync(change.path);
      if (isWideFolder(real) && change.isWide !== true)
        throw new CompanionError(
          `${real} ${wideShareWarning} Share a folder in it, or confirm with: outrigger-companion share ${real} --yes`,
        );
      if (!settings.sharedFolders.includes(real)) settings.sharedFolders.push(real);
      if (change.includeHidden === true && !settings.files.hidden.includes(real)) settings.files.hidden.push(real);
      if (change.receiveDownloads === true && !settings.files.downloads.includes(real))
        settings.files.downloads.push(real);
      return;
    }
    case 'unshare': {
      const remaining = settings.sharedFolders.filter((folder) => folder !== change.path);
      if (remaining.length === settings.sharedFolders.length)
        throw new CompanionError(
          `${change.path} is not shared; shared are ${settings.sharedFolders.join(', ') || 'none'}.`,
        );
      settings.sharedFolders = remaining;
      settings.files.hidden = settings.files.hidden.filter((folder) => folder !== change.path);
      settings.files.downloads = settings.files.downloads.filter((folder) => folder !== change.path);
      return;
    }
    case 'ask':
      settings.system.ask = change.ask;
      return;
    case 'programs':
      settings.system.programs = change.programs;
      return;
    case 'variables': {
      const wrong = change.mode === 'add' && change.names.find((name) => !allowedVariable.safeParse(name).success);
      if (typeof wrong === 'string')
        throw new CompanionError(
          `"${wrong}" must be the name of a variable, such as API_TOKEN, and must not begin with OUTRIGGER_.`,
        );
      const risky = change.mode === 'add' ? change.names.filter(isRiskyVariable) : [];
      if (risky.length > 0 && change.isRisky !== true)
        throw new CompanionError(
          `${risky.join(', ')} ${riskyVariableWarning} Confirm with: outrigger-companion variables allow ${change.names.join(' ')} --yes`,
        );
      settings.system.variables = changeList(settings.system.variables, change.names, change.mode);
      if (settings.system.variables.length > maxVariables)
        throw new CompanionError(`At most ${maxVariables} variables can be allowed; remove some first.`);
      return;
    }
    case 'add_rule': {
      const words = wordsOf(change.pattern);
      if (words === null || words.length === 0)
        throw new CompanionError(
          `pattern: write a program and its arguments, such as: git status ** (put a word with spaces in double quotes; it is ${change.pattern}).`,
        );
      if (change.folder !== undefined && change.decision === 'deny')
        throw new CompanionError('folder: a rule that denies holds in every folder, so leave the folder out.');
      addRule(
        settings,
        {
          id: ruleId,
          decision: change.decision,
          pattern: change.pattern.trim(),
          exact: null,
          ...(change.folder === undefined ? {} : { folder: ruleFolder(change.folder) }),
          until: inMinutes(change.minutes, now),
        },
        now,
      );
      return;
    }
    case 'remove_rule': {
      const remaining = settings.system.rules.filter(({ id }) => id !== change.id);
      if (remaining.length === settings.system.rules.length)
        throw new CompanionError(`There is no rule ${change.id}; list the rules with: outrigger-companion rules`);
      settings.system.rules = remaining;
      return;
    }
    case 'browser_hosts': {
      const { browser } = settings;
      const allowHosts = changeList(browser.allowHosts, change.allowHosts, change.mode);
      const blockHosts = changeList(browser.blockHosts, change.blockHosts, change.mode);
      const privateHosts = changeList(browser.privateHosts, change.privateHosts, change.mode);
      const wrong = [...allowHosts, ...blockHosts].find((pattern) => hostOfPattern(pattern) === null);
      if (wrong !== undefined)
        throw new CompanionError(
          `"${wrong}" must be a host such as example.org, or *.example.org for all hosts below it.`,
        );
      const unreadable = privateHosts.find((text) => parsePrivateEntry(text) === null);
      if (unreadable !== undefined)
        throw new CompanionError(
          `"${unreadable}" must be a host, a host with a port such as localhost:3000, or a range such as 10.0.0.0/8.`,
        );
      settings.browser.allowHosts = allowHosts;
      settings.browser.blockHosts = blockHosts;
      settings.browser.privateHosts = privateHosts;
      return;
    }
    case 'browser_evaluate':
      settings.browser.evaluate = change.allowed;
      return;
    case 'browser_window':
      settings.browser.headed = change.headed;
      return;
    case 'accept_settings':
    case 'discard_settings':
      return;
    case 'keep_pictures':
      settings.capture.keepPictures = change.keep;
      return;
  }
}
