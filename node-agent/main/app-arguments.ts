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
export const readSecondStart = (data: unknown): AppArguments =>
  appArguments.safeParse(data).data ?? readArguments([], {});

/** Whether root wants the window and did not say `--no-sandbox`, as the program in the path found; what opens none is let be. */
export const isRefusedAsRoot = (args: readonly string[]): boolean =>
  args.includes('--as-root') && !args.includes('--pause') && !args.includes('--unpair');

/** The words of this start for one that goes on in its place, with its window or without; what was asked once is not among them. */
export const restartArguments = (args: readonly string[], isHidden = args.includes('--hidden')): string[] => [
  ...args.filter((word) => !/^(--wait-ms=|--pause$|--hidden$|outrigger:)/i.test(word)),
  ...(isHidden ? ['--hidden'] : []),
];

/** Reads the words after the program's name. Words that others added, such as Chromium's, are left out of account. */
export function readArguments(args: readonly string[], env: NodeJS.ProcessEnv): AppArguments {
  const valueOf = (name: string) => args.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1);
  const valueIndex = args.indexOf('--data-folder') + 1;
  const dataFolder = valueOf('--data-folder') ?? (valueIndex === 0 ? undefined : args[valueIndex]);
  const waitMs = Number(valueOf('--wait-ms') ?? 0);
  return {
    dataFolder: (dataFolder ?? env['OUTRIGGER_COMPANION_HOME']) || null,
    pause: args.includes('--pause'),
    unpair: args.includes('--unpair'),
    hidden: args.includes('--hidden'),
    link: args.find(isPairingLink) ?? null,
    waitMs: Number.isFinite(waitMs) ? Math.min(Math.max(0, waitMs), 60_000) : 0,
  };
}
