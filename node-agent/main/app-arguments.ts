import { isPairingLink } from './pairing-link.ts';

/** What a start of the app asks for. A second start says it to the first one. */
export interface AppArguments {
  /** Null for the one in the home folder. */
  dataFolder: string | null;
  /** Ends what runs and lets nothing new begin. */
  pause: boolean;
  /** Without its window, as at login; where there is no tray the window is minimised. */
  hidden: boolean;
  /** A link that was opened. */
  link: string | null;
  /** After a crash: how long to wait first, in milliseconds. */
  waitMs: number;
}

/** Reads the words after the program's name. Words that others added, such as Chromium's, are left out of account. */
export function readArguments(words: readonly string[], env: NodeJS.ProcessEnv): AppArguments {
  const valueOf = (name: string) => words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1);
  const waitMs = Number(valueOf('--wait-ms') ?? 0);
  return {
    dataFolder: (valueOf('--data-folder') ?? env['OUTRIGGER_COMPANION_HOME']) || null,
    pause: words.includes('--pause'),
    hidden: words.includes('--hidden'),
    link: words.find(isPairingLink) ?? null,
    waitMs: Number.isFinite(waitMs) ? Math.min(Math.max(0, waitMs), 60_000) : 0,
  };
}
