import { z } from 'zod';
import { hostOfPattern } from './commands/browser/navigation-policy.ts';

/** One that names no host would block nothing, and its owner would not know. */
const hostPattern = z
  .string()
  .refine(
    (pattern) => hostOfPattern(pattern) !== null,
    'must be a host such as example.org, or *.example.org for all hosts below it',
  );

/**
 * What the owner of this machine allows, in `settings.json` of the data folder. Everything is off until its owner switches it
 * on, and nothing here can loosen what the hub forbids.
 */
export const localSettings = z.strictObject({
  /** While true every command is refused and those under way are ended. */
  paused: z.boolean().default(false),
  /** Absolute paths of folders that workflows may list and read. */
  sharedFolders: z.array(z.string().min(1)).default([]),
  capture: z
    .strictObject({
      screen: z.boolean().default(false),
      camera: z.boolean().default(false),
      audio: z.boolean().default(false),
    })
    .prefault({}),
  system: z
    .strictObject({
      allowed: z.boolean().default(false),
      /** When not empty: only programs whose resolved path or bare name stands here may run. */
      programs: z.array(z.string().min(1)).default([]),
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
      /** `browser.evaluate` runs code of the workflow's choosing in the owner's profile, so it has a switch of its own. */
      evaluate: z.boolean().default(true),
      /** As root Chromium has no sandbox: a page that breaks out of it has the whole machine, so that needs a word of its own. */
      withoutSandbox: z.boolean().default(false),
      executablePath: z.string().min(1).optional(),
      /** Pages without a command for so long are closed; the browser too once it has none, in seconds. */
      idleSeconds: z.number().int().min(5).max(86_400).default(300),
    })
    .prefault({}),
});

export type LocalSettings = z.output<typeof localSettings>;

/** What an owner can allow or deny. */
export const powers = ['system', 'browser', 'screen', 'camera', 'audio'] as const;
export type Power = (typeof powers)[number];

/** Whether an owner lets workflows use a power. */
export function isAllowed(settings: LocalSettings, power: Power): boolean {
  return power === 'system' || power === 'browser' ? settings[power].allowed : settings.capture[power];
}

export function setAllowed(settings: LocalSettings, power: Power, allowed: boolean): void {
  if (power === 'system' || power === 'browser') settings[power].allowed = allowed;
  else settings.capture[power] = allowed;
}
