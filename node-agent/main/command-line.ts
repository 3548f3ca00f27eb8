import { isPairingLink } from './pairing-link.ts';

/** What asks the command line about itself, and needs no command. */
const informationFlags = new Set(['--help', '-h', '--version', '-V']);

/**
 * The words for the command line, where a start of the program is one: from the first word that is neither a switch nor a link; which commands there are is
 * for the command line to say. Null where it is a start of the app. Switches before the command are Chromium's or the app's, except for the data folder.
 */
export function cliArguments(args: readonly string[], hasAppPath: boolean): string[] | null {
  const dataFolderArgs: string[] = [];
  let appPaths = hasAppPath ? 1 : 0;
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] as string;
    if (arg === '--data-folder') {
      dataFolderArgs.push(...args.slice(index, index + 2));
      // Without its value only the command line can say so.
      if (index === args.length - 1) return dataFolderArgs;
      index += 1;
    } else if (arg.startsWith('--data-folder=')) dataFolderArgs.push(arg);
    else if (informationFlags.has(arg)) return [...dataFolderArgs, arg];
    else if (arg === '' || arg.startsWith('-')) continue;
    else if (appPaths > 0) appPaths -= 1;
    else return isPairingLink(arg) ? null : [...dataFolderArgs, ...args.slice(index)];
  }
  return null;
}

/** Runs the command line in this process, and ends it with its exit code. */
export async function runCommandLine(args: readonly string[]): Promise<never> {
  // As its reader expects them of a program of Electron: with the path of the app only where that was given.
  process.argv = [process.execPath, ...(process.defaultApp ? [import.meta.filename] : []), ...args];
  await import('../runtime/cli.ts');
  process.exit(process.exitCode ?? 0);
}
