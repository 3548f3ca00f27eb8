import { z } from 'zod';
import { variableName } from '../commands/system.ts';
import { timestamp } from '../contract/common.ts';

/** Powers that an owner can allow or deny separately. */
export const powers = ['screen', 'camera', 'audio', 'files', 'system', 'browser'] as const;
export type Power = (typeof powers)[number];

/** Maximum length of a program pattern, in characters. */
const maxPatternLength = 2_000;
export const maxRules = 500;

/** A variable that the owner allows workflows to set. The companion uses `OUTRIGGER_*` itself. */
export const allowedVariable = variableName.refine(
  (name) => !/^OUTRIGGER_/i.test(name),
  'must not begin with OUTRIGGER_, which the companion uses',
);
export const maxVariables = 500;

/**
 * A rule of the owner about which programs may start. Deny rules are evaluated before allow rules. An `exact` rule
 * matches everything that a prompt showed; a `pattern` rule matches the command line.
 */
export const programRule = z.strictObject({
  id: z.uuid(),
  decision: z.enum(['allow', 'deny']),
  /**
   * Words of a command line. `*` matches any part of a word; a last word `**` matches any further words. For an exact
   * rule, the words are literal.
   */
  pattern: z.string().min(1).max(maxPatternLength),
  /** SHA-256, in hex, of the canonical JSON of program, its bytes, argv, cwd, env and stdin; null for a pattern. */
  exact: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .nullable()
    .default(null),
  /**
   * For an allow pattern: applies in this folder and its subfolders. Without a folder, only in the home folder itself.
   */
  folder: z.string().min(1).max(4_096).optional(),
  /** When the rule expires; null if it does not. */
  until: timestamp.nullable().default(null),
  createdAt: timestamp,
});
export type ProgramRule = z.output<typeof programRule>;

/**
 * Permissions of the owner of a machine. All powers are off until the owner enables them. These settings cannot allow
 * what the hub forbids.
 * @param isHostPattern whether a text is a host, or a pattern for all hosts below one.
 * @param isPrivateEntry whether a text is a private destination: a host, a host with a port, or an address range.
 */
export function settingsSchema(
  isHostPattern: (pattern: string) => boolean,
  isPrivateEntry: (text: string) => boolean = isHostPattern,
) {
  // An invalid pattern would silently block nothing.
  const hostPattern = z
    .string()
    .min(1)
    .max(300)
    .refine(isHostPattern, 'must be a host such as example.org, or *.example.org for all hosts below it');
  const privateEntry = z
    .string()
    .min(1)
    .max(300)
    .refine(isPrivateEntry, 'must be a host, a host with a port such as localhost:3000, or a range such as 10.0.0.0/8');
  return z.strictObject({
    /** While true, every new command is refused and running commands are ended. */
    paused: z.boolean().default(false),
    /** Expiry of temporary permissions, by power. An entry for a power that is off has no effect. */
    until: z.partialRecord(z.enum(powers), timestamp).default({}),
    /** Absolute paths of the folders that workflows may list and read. */
    sharedFolders: z.array(z.string().min(1)).default([]),
    files: z
      .strictObject({
        /** False disables all shared folders without removing them from the list. */
        allowed: z.boolean().default(true),
        /** Shared folders whose hidden files and key stores may also be read. */
        hidden: z.array(z.string().min(1)).default([]),
        /** Shared folders in which the browser may save downloads. Existing files are never replaced. */
        downloads: z.array(z.string().min(1)).default([]),
      })
      .prefault({}),
    capture: z
      .strictObject({
        screen: z.boolean().default(false),
        camera: z.boolean().default(false),
        audio: z.boolean().default(false),
        /** Whether sent pictures are kept for one day, so that the owner can view them. */
        keepPictures: z.boolean().default(true),
      })
      .prefault({}),
    system: z
      .strictObject({
        allowed: z.boolean().default(false),
        /** When not empty, only programs whose resolved path or bare name is listed may run. */
        programs: z.array(z.string().min(1)).default([]),
        /** Whether a prompt asks the owner about programs that no rule decides. */
        ask: z.boolean().default(false),
        rules: z.array(programRule).max(maxRules).default([]),
        /** Variables that workflows may set for programs, in addition to the harmless ones that are always allowed. */
        variables: z.array(allowedVariable).max(maxVariables).default([]),
      })
      .prefault({}),
    browser: z
      .strictObject({
        allowed: z.boolean().default(false),
        /** Whether the browser runs with a window when there is a display. */
        headed: z.boolean().default(false),
        /** Host patterns, such as `example.org` or `*.example.org`. When not empty, only these hosts may be visited. */
        allowHosts: z.array(hostPattern).default([]),
        blockHosts: z.array(hostPattern).default([]),
        /**
         * Private destinations that pages may reach: hosts, `host:port`, origins and address ranges. Others are
         * refused.
         */
        privateHosts: z.array(privateEntry).default([]),
        /** Separate switch for `browser.evaluate`, which runs code of the workflow in the browser profile. */
        evaluate: z.boolean().default(true),
        /**
         * Separate consent for running as root, where Chromium has no sandbox: an exploit would control the machine.
         */
        withoutSandbox: z.boolean().default(false),
        executablePath: z.string().min(1).optional(),
        /** Maximum number of open pages over all runs. */
        maxPages: z.number().int().min(1).max(100).default(20),
        /** Idle seconds after which pages of direct calls are closed. Pages of a run stay open until the run ends. */
        idleSeconds: z.number().int().min(5).max(86_400).default(300),
      })
      .prefault({}),
  });
}

export type LocalSettings = z.output<ReturnType<typeof settingsSchema>>;

/** Whether the switch of a power is on, even if its permission has expired. */
const isOn = (settings: LocalSettings, power: Power): boolean =>
  power === 'system' || power === 'browser' || power === 'files' ? settings[power].allowed : settings.capture[power];

/** Whether the owner allows a power at a time, in milliseconds since 1970. */
export function isAllowed(settings: LocalSettings, power: Power, now: number): boolean {
  const until = settings.until[power];
  return isOn(settings, power) && (until === undefined || now < Date.parse(until));
}

/** Powers that can be used now. `files` requires a shared folder. */
export const usablePowers = (settings: LocalSettings, now: number): Power[] =>
  powers.filter((power) => isAllowed(settings, power, now) && (power !== 'files' || settings.sharedFolders.length > 0));

/** Turns a power on or off, permanently or until a time. */
export function setAllowed(settings: LocalSettings, power: Power, allowed: boolean, until?: string): void {
  if (power === 'system' || power === 'browser' || power === 'files') settings[power].allowed = allowed;
  else settings.capture[power] = allowed;
  if (allowed && until !== undefined) settings.until[power] = until;
  else delete settings.until[power];
}

/** The effective settings at a time: expired permissions are off, and expired rules are removed. */
export function effectiveSettings(settings: LocalSettings, now: number): LocalSettings {
  const effective = cloneSettings(settings);
  for (const power of powers) if (!isAllowed(settings, power, now)) setAllowed(effective, power, false);
  effective.system.rules = effective.system.rules.filter(({ until }) => until === null || now < Date.parse(until));
  return effective;
}

/** The next expiry of a temporary permission or rule after a time, in milliseconds since 1970; null without one. */
export function nextExpiry(settings: LocalSettings, now: number): number | null {
  const ends = [
    ...powers.filter((power) => isAllowed(settings, power, now)).map((power) => settings.until[power]),
    ...settings.system.rules.map(({ until }) => until ?? undefined),
  ]
    .flatMap((until) => (until === undefined ? [] : [Date.parse(until)]))
    .filter((end) => end > now);
  return ends.length === 0 ? null : Math.min(...ends);
}

/** Intersection of two allow lists, where an empty list allows everything; null if the intersection is empty. */
function intersectAllowLists(one: readonly string[], other: readonly string[]): string[] | null {
  if (one.length === 0) return [...other];
  if (other.length === 0) return [...one];
  const both = other.filter((entry) => one.includes(entry));
  return both.length === 0 ? null : both;
}

const earlier = (one: string | undefined, other: string | undefined): string | undefined =>
  one === undefined || (other !== undefined && Date.parse(other) < Date.parse(one)) ? other : one;

/** Settings that allow only what both settings allow. Fields that are no permissions are those of `one`. */
export function stricterOf(one: LocalSettings, other: LocalSettings): LocalSettings {
  const both = cloneSettings(one);
  both.paused = one.paused || other.paused;
  both.capture.keepPictures = one.capture.keepPictures && other.capture.keepPictures;
  for (const power of powers)
    setAllowed(both, power, isOn(one, power) && isOn(other, power), earlier(one.until[power], other.until[power]));
  both.sharedFolders = other.sharedFolders.filter((folder) => one.sharedFolders.includes(folder));
  both.files.hidden = other.files.hidden.filter((folder) => one.files.hidden.includes(folder));
  both.files.downloads = other.files.downloads.filter((folder) => one.files.downloads.includes(folder));
  const programs = intersectAllowLists(one.system.programs, other.system.programs);
  both.system.programs = programs ?? [...one.system.programs];
  if (programs === null) both.system.allowed = false;
  both.system.ask = one.system.ask || other.system.ask;
  const isIn = (rules: readonly ProgramRule[], rule: ProgramRule) =>
    rules.some((known) => JSON.stringify(known) === JSON.stringify(rule));
  const rules = [
    ...other.system.rules.filter((rule) => rule.decision === 'deny' || isIn(one.system.rules, rule)),
    ...one.system.rules.filter((rule) => rule.decision === 'deny' && !isIn(other.system.rules, rule)),
  ];
  // Above the limit, rules that only `other` has are removed first, so that every deny rule of `one` is kept.
  while (rules.length > maxRules)
    rules.splice(
      rules.findLastIndex((rule) => !isIn(one.system.rules, rule)),
      1,
    );
  both.system.rules = rules;
  both.system.variables = other.system.variables.filter((name) => one.system.variables.includes(name));
  const hosts = intersectAllowLists(one.browser.allowHosts, other.browser.allowHosts);
  both.browser.allowHosts = hosts ?? [...one.browser.allowHosts];
  if (hosts === null) both.browser.allowed = false;
  both.browser.blockHosts = [...new Set([...other.browser.blockHosts, ...one.browser.blockHosts])];
  both.browser.privateHosts = other.browser.privateHosts.filter((entry) => one.browser.privateHosts.includes(entry));
  both.browser.evaluate = one.browser.evaluate && other.browser.evaluate;
  both.browser.withoutSandbox = one.browser.withoutSandbox && other.browser.withoutSandbox;
  return both;
}

/** Removes permissions and rules that have expired at a time. Returns the powers that were turned off. */
export function removeExpiredPermissions(settings: LocalSettings, now: number): Power[] {
  const over = powers.filter((power) => {
    const until = settings.until[power];
    return until !== undefined && now >= Date.parse(until);
  });
  for (const power of over) setAllowed(settings, power, false);
  settings.system.rules = settings.system.rules.filter(({ until }) => until === null || now < Date.parse(until));
  return over;
}

const cloneSettings = (settings: LocalSettings) => JSON.parse(JSON.stringify(settings)) as LocalSettings;
