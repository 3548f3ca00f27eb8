import { z } from 'zod';
import { isPairingLink } from './pairing-link.ts';

const appArguments = z.object({
  /** Null for the default folder in the home folder. */
  dataFolder: z.string().nullable(),
  /** Pauses the companion: ends running commands and starts no new ones. */
  pause: z.boolean(),
  /** Unpairs and exits. Used by uninstallers. */
  unpair: z.boolean().default(false),
  /** Starts without showing the window, for example at login. Without a tray, the window starts minimized. */
  hidden: z.boolean(),
  /** The pairing link that was opened. */
  link: z.string().nullable(),
  /** Delay before the start in milliseconds, after a crash. */
  waitMs: z.number(),
});

/** Arguments of a start of the app. A second start sends its arguments to the first one. */
export type AppArguments = z.output<typeof appArguments>;

/** Parses the arguments of a second start, which may be another version. Invalid arguments only open the window. */
export const readSecondStart = (data: unknown): AppArguments =>
  appArguments.safeParse(data).data ?? readArguments([], {});

/**
 * Whether root tries to open the window without `--no-sandbox`. The program in the path adds `--as-root` in this case.
 * Starts without a window are permitted.
 */
export const isRefusedAsRoot = (args: readonly string[]): boolean =>
  args.includes('--as-root') && !args.includes('--pause') && !args.includes('--unpair');

/** Arguments for a restart of the app, without those that apply only once. */
export const restartArguments = (args: readonly string[], isHidden = args.includes('--hidden')): string[] => [
  ...args.filter((arg) => !/^(--wait-ms=|--pause$|--hidden$|outrigger:)/i.test(arg)),
  ...(isHidden ? ['--hidden'] : []),
];

/** Parses the arguments after the program name. Ignores unknown arguments, for example those of Chromium. */
export function readArguments(args: readonly string[], env: NodeJS.ProcessEnv): AppArguments {
  const valueOf = (name: string) => args.find((arg) => arg.startsWith(`${name}=`))?.slice(name.length + 1);
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
