import { isPairingLink } from './pairing-link.ts';

/** What asks the command line about itself, and needs no command. */
const questions = new Set(['--help', '-h', '--version', '-V']);

/**
 * The words for the command line, where a start of the program is one: from the first word that is neither a switch nor a link; which commands there are is
 * for the command line to say. Null where it is a start of the app. Switches before the command are Chromium's or the app's, except for the data folder.
 */
export function commandWords(words: readonly string[], hasAppPath: boolean): string[] | null {
  const ofDataFolder: string[] = [];
  let appPaths = hasAppPath ? 1 : 0;
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] as string;
    if (word === '--data-folder') {
      ofDataFolder.push(...words.slice(index, index + 2));
      // Without its value only the command line can say so.
      if (index === words.length - 1) return ofDataFolder;
      index += 1;
    } else if (word.startsWith('--data-folder=')) ofDataFolder.push(word);
    else if (questions.has(word)) return [...ofDataFolder, word];
    else if (word === '' || word.startsWith('-')) continue;
    else if (appPaths > 0) appPaths -= 1;
    else return isPairingLink(word) ? null : [...ofDataFolder, ...words.slice(index)];
  }
  return null;
}

/** Runs the command line in this process, and ends it with its exit code. */
export async function runCommandLine(words: readonly string[]): Promise<never> {
  // As its reader expects them of a program of Electron: with the path of the app only where that was given.
  process.argv = [process.execPath, ...(process.defaultApp ? [import.meta.filename] : []), ...words];
  await import('../runtime/cli.ts');
  process.exit(process.exitCode ?? 0);
}
