import { z } from 'zod';
import { timestamp } from '../contract/common.ts';

/** What an owner can allow or deny, each with a switch of its own. */
export const powers = ['screen', 'camera', 'audio', 'files', 'system', 'browser'] as const;
export type Power = (typeof powers)[number];

/** Longest pattern of a program, in characters. */
const maxPatternLength = 2_000;
export const maxRules = 500;

/**
 * A word of the owner about programs: whether one may begin, asked in the order refusals, then permissions. `exact` binds everything that a prompt
 * showed, `pattern` what the owner wrote.
 */
export const programRule = z.strictObject({
  id: z.uuid(),
  decision: z.enum(['allow', 'deny']),
  /** Words of a command line in which `*` stands for any part of a word and a last word `**` for any further words; the words themselves for an exact rule. */
  pattern: z.string().min(1).max(maxPatternLength),
  /** SHA-256, in hex, of the canonical JSON of program, its bytes, argv, cwd, env and stdin; null for a pattern. */
  exact: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .nullable()
    .default(null),
  /** With an allowing pattern: it permits in this folder and below it. Without a folder it permits in the home folder itself only. */
  folder: z.string().min(1).max(4_096).optional(),
  /** When it ends; null for good. */
  until: timestamp.nullable().default(null),
  createdAt: timestamp,
});
export type ProgramRule = z.output<typeof programRule>;

/**
 * What the owner of a machine allows. Everything is off until its owner switches it on, and nothing here can loosen what the hub forbids.
 * @param isHostPattern Says whether a text names a host, or all hosts below one.
 * @param isPrivateEntry Says whether a text names a private destination: a host, a host with a port, or a range of addresses.
 */
export function settingsSchema(
  isHostPattern: (pattern: string) => boolean,
  isPrivateEntry: (text: string) => boolean = isHostPattern,
) {
  // One that names no host would block nothing, and its owner would not know.
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
    /** While true every command is refused and those under way are ended. */
    paused: z.boolean().default(false),
    /** When what is allowed for a time is over, for each power; one that stands here without being on means nothing. */
    until: z.partialRecord(z.enum(powers), timestamp).default({}),
    /** Absolute paths of folders that workflows may list and read. */
    sharedFolders: z.array(z.string().min(1)).default([]),
    files: z
      .strictObject({
        /** Sharing a folder is the word that counts; this takes all of them back at once without forgetting which they are. */
        allowed: z.boolean().default(true),
        /** Shared folders of which hidden files and key stores may be read, too. */
        hidden: z.array(z.string().min(1)).default([]),
        /** Shared folders in which downloads of the browser may be saved. Existing files are never replaced. */
        downloads: z.array(z.string().min(1)).default([]),
      })
      .prefault({}),
    capture: z
      .strictObject({
        screen: z.boolean().default(false),
        camera: z.boolean().default(false),
        audio: z.boolean().default(false),
        /** Whether the pictures that were sent are kept for a day, for the owner to look at. */
        keepPictures: z.boolean().default(true),
      })
      .prefault({}),
    system: z
      .strictObject({
        allowed: z.boolean().default(false),
        /** When not empty: only programs whose resolved path or bare name stands here may run. */
        programs: z.array(z.string().min(1)).default([]),
        /** Whether the owner is asked on the screen for what no rule decides. */
        ask: z.boolean().default(false),
        rules: z.array(programRule).max(maxRules).default([]),
      })
      .prefault({}),
    browser: z
      .strictObject({
        allowed: z.boolean().default(false),
        /** Run the browser with a window when there is a display. */
        headed: z.boolean().default(false),
        /** Host patterns, `example.org` or `*.example.org`; when not empty only these may be visited. */
        allowHosts: z.array(hostPattern).default([]),
        blockHosts: z.array(hostPattern).default([]),
        /** Private destinations that pages may reach: hosts, `host:port`, origins and ranges. All others are refused. */
        privateHosts: z.array(privateEntry).default([]),
        /** `browser.evaluate` runs code of the workflow's choosing in the owner's profile, so it has a switch of its own. */
        evaluate: z.boolean().default(true),
        /** As root Chromium has no sandbox: a page that breaks out of it has the whole machine, so that needs a word of its own. */
        withoutSandbox: z.boolean().default(false),
        executablePath: z.string().min(1).optional(),
        /** Open pages at most, over all runs. */
        maxPages: z.number().int().min(1).max(100).default(20),
        /** Pages of direct calls are closed after so long without a command, in seconds; those of a run stay until the run ends. */
        idleSeconds: z.number().int().min(5).max(86_400).default(300),
      })
      .prefault({}),
  });
}

export type LocalSettings = z.output<ReturnType<typeof settingsSchema>>;

/** Whether an owner's switch for a power is on, be it for a time that is over. */
const isOn = (settings: LocalSettings, power: Power): boolean =>
  power === 'system' || power === 'browser' || power === 'files' ? settings[power].allowed : settings.capture[power];

/** Whether an owner lets workflows use a power at an instant, in milliseconds since 1970. */
export function isAllowed(settings: LocalSettings, power: Power, now: number): boolean {
  const until = settings.until[power];
  return isOn(settings, power) && (until === undefined || now < Date.parse(until));
}

/** Powers that can be used now: `files` only while a folder is shared. */
export const usablePowers = (settings: LocalSettings, now: number): Power[] =>
  powers.filter((power) => isAllowed(settings, power, now) && (power !== 'files' || settings.sharedFolders.length > 0));

/** Switches a power, for good or until an instant. */
export function setAllowed(settings: LocalSettings, power: Power, allowed: boolean, until?: string): void {
  if (power === 'system' || power === 'browser' || power === 'files') settings[power].allowed = allowed;
  else settings.capture[power] = allowed;
  if (allowed && until !== undefined) settings.until[power] = until;
  else delete settings.until[power];
}

/** The settings as they are in force at an instant: what was allowed for a time that is over is off, and rules that ended are gone. */
export function inForce(settings: LocalSettings, now: number): LocalSettings {
  const effective = structuredCloneOf(settings);
  for (const power of powers) if (!isAllowed(settings, power, now)) setAllowed(effective, power, false);
  effective.system.rules = effective.system.rules.filter(({ until }) => until === null || now < Date.parse(until));
  return effective;
}

/** When something that is allowed for a time ends next after an instant, in milliseconds since 1970; null when nothing does. */
export function nextEnd(settings: LocalSettings, now: number): number | null {
  const ends = [
    ...powers.filter((power) => isAllowed(settings, power, now)).map((power) => settings.until[power]),
    ...settings.system.rules.map(({ until }) => until ?? undefined),
  ]
    .flatMap((until) => (until === undefined ? [] : [Date.parse(until)]))
    .filter((end) => end > now);
  return ends.length === 0 ? null : Math.min(...ends);
}

/** Of two lists that mean everything when they are empty, what both allow; null when that is nothing. */
function bothAllow(one: readonly string[], other: readonly string[]): string[] | null {
  if (one.length === 0) return [...other];
  if (other.length === 0) return [...one];
  const both = other.filter((entry) => one.includes(entry));
  return both.length === 0 ? null : both;
}

const earlier = (one: string | undefined, other: string | undefined): string | undefined =>
  one === undefined || (other !== undefined && Date.parse(other) < Date.parse(one)) ? other : one;

/** What two settings both allow. What is no permission stays as `one` has it. */
export function stricterOf(one: LocalSettings, other: LocalSettings): LocalSettings {
  const both = structuredCloneOf(one);
  both.paused = one.paused || other.paused;
  both.capture.keepPictures = one.capture.keepPictures && other.capture.keepPictures;
  for (const power of powers)
    setAllowed(both, power, isOn(one, power) && isOn(other, power), earlier(one.until[power], other.until[power]));
  both.sharedFolders = other.sharedFolders.filter((folder) => one.sharedFolders.includes(folder));
  both.files.hidden = other.files.hidden.filter((folder) => one.files.hidden.includes(folder));
  both.files.downloads = other.files.downloads.filter((folder) => one.files.downloads.includes(folder));
  const programs = bothAllow(one.system.programs, other.system.programs);
  both.system.programs = programs ?? [...one.system.programs];
  if (programs === null) both.system.allowed = false;
  both.system.ask = one.system.ask || other.system.ask;
  const isIn = (rules: readonly ProgramRule[], rule: ProgramRule) =>
    rules.some((known) => JSON.stringify(known) === JSON.stringify(rule));
  const rules = [
    ...other.system.rules.filter((rule) => rule.decision === 'deny' || isIn(one.system.rules, rule)),
    ...one.system.rules.filter((rule) => rule.decision === 'deny' && !isIn(other.system.rules, rule)),
  ];
  // Beyond the limit new refusals go first, so that no number of them removes a refusal of `one`.
  while (rules.length > maxRules)
    rules.splice(
      rules.findLastIndex((rule) => !isIn(one.system.rules, rule)),
      1,
    );
  both.system.rules = rules;
  const hosts = bothAllow(one.browser.allowHosts, other.browser.allowHosts);
  both.browser.allowHosts = hosts ?? [...one.browser.allowHosts];
  if (hosts === null) both.browser.allowed = false;
  both.browser.blockHosts = [...new Set([...other.browser.blockHosts, ...one.browser.blockHosts])];
  both.browser.privateHosts = other.browser.privateHosts.filter((entry) => one.browser.privateHosts.includes(entry));
  both.browser.evaluate = one.browser.evaluate && other.browser.evaluate;
  both.browser.withoutSandbox = one.browser.withoutSandbox && other.browser.withoutSandbox;
  return both;
}

/** Turns off what was allowed for a time that is over at an instant, for good; answers the powers that it turned off. */
export function endGrants(settings: LocalSettings, now: number): Power[] {
  const over = powers.filter((power) => {
    const until = settings.until[power];
    return until !== undefined && now >= Date.parse(until);
  });
  for (const power of over) setAllowed(settings, power, false);
  settings.system.rules = settings.system.rules.filter(({ until }) => until === null || now < Date.parse(until));
  return over;
}

const structuredCloneOf = (settings: LocalSettings) => JSON.parse(JSON.stringify(settings)) as LocalSettings;
