import { z } from 'zod';
import { isPairingLink } from './pairing-link.ts';

const appArguments = z.object({
  /** Null for the one in the home folder. */
  dataFolder: z.string().nullable(),
  /** Ends what runs and lets nothing new begin. */
  pause: z.boolean(),
  /** Forgets the hub and ends; what uninstallers call. */
  unpair: z.boolean().default(false),
  /** Without its window, as at login; where there is no tray the window is minimised. */
  hidden: z.boolean(),
  /** A link that was opened. */
  link: z.string().nullable(),
  /** After a crash: how long to wait first, in milliseconds. */
  waitMs: z.number(),
});

/** What a start of the app asks for. A second start says it to the first one. */
export type AppArguments = z.output<typeof appArguments>;

/** What a second start said, which may be of another version; one that can't be read only wants the window. */
export const readSecondStart = (said: unknown): AppArguments =>
  appArguments.safeParse(said).data ?? readArguments([], {});

/** Whether root wants the window and did not say `--no-sandbox`, as the program in the path found; what opens none is let be. */
export const isRefusedAsRoot = (words: readonly string[]): boolean =>
  words.includes('--as-root') && !words.includes('--pause') && !words.includes('--unpair');

/** The words of this start for one that goes on in its place, with its window or without; what was asked once is not among them. */
export const wordsToGoOn = (words: readonly string[], isHidden = words.includes('--hidden')): string[] => [
  ...words.filter((word) => !/^(--wait-ms=|--pause$|--hidden$|outrigger:)/i.test(word)),
  ...(isHidden ? ['--hidden'] : []),
];

/** Reads the words after the program's name. Words that others added, such as Chromium's, are left out of account. */
export function readArguments(words: readonly string[], env: NodeJS.ProcessEnv): AppArguments {
  const valueOf = (name: string) => words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1);
  const after = words.indexOf('--data-folder') + 1;
  const dataFolder = valueOf('--data-folder') ?? (after === 0 ? undefined : words[after]);
  const waitMs = Number(valueOf('--wait-ms') ?? 0);
  return {
    dataFolder: (dataFolder ?? env['OUTRIGGER_COMPANION_HOME']) || null,
    pause: words.includes('--pause'),
    unpair: words.includes('--unpair'),
    hidden: words.includes('--hidden'),
    link: words.find(isPairingLink) ?? null,
    waitMs: Number.isFinite(waitMs) ? Math.min(Math.max(0, waitMs), 60_000) : 0,
  };
}
