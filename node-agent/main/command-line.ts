import { isPairingLink } from './pairing-link.ts';

/** Flags that print information about the command line. They need no command. */
const informationFlags = new Set(['--help', '-h', '--version', '-V']);

/**
 * Returns the arguments for the command line, or null if this is a start of the app. The command is the first argument
 * that is neither a switch nor a pairing link; the command line validates it. Switches before the command belong to
 * Chromium or the app, except for the data folder.
 */
export function cliArguments(args: readonly string[], hasAppPath: boolean): string[] | null {
  const dataFolderArgs: string[] = [];
  let appPaths = hasAppPath ? 1 : 0;
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] as string;
    if (arg === '--data-folder') {
      dataFolderArgs.push(...args.slice(index, index + 2));
      // The value is missing. The command line reports the error.
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

/** Runs the command line in this process, then exits with its exit code. */
export async function runCommandLine(args: readonly string[]): Promise<never> {
  // The argument parser expects the argv of an Electron program: with the app path only if it was passed.
  process.argv = [process.execPath, ...(process.defaultApp ? [import.meta.filename] : []), ...args];
  await import('../runtime/cli.ts');
  process.exit(process.exitCode ?? 0);
}
