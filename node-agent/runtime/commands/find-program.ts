import { accessSync, constants, lstatSync, readlinkSync, statSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join, normalize, resolve, sep } from 'node:path';
import { CommandError } from './handler.ts';

/** The PATH in which programs are looked up. On Linux and macOS it does not depend on the PATH of the companion. */
export const defaultPath =
  process.platform === 'win32'
    ? (process.env['PATH'] ?? '')
    : '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * Returns the path of a program by its name or absolute path. Names are looked up in `defaultPath`, as a shell does.
 * @throws CommandError `not_found`, `invalid_input`.
 */
export function findProgram(name: string): string {
  const candidates =
    name.includes('/') || isAbsolute(name) ? [name] : defaultPath.split(delimiter).map((folder) => join(folder, name));
  for (const candidate of candidates) {
    if (!isAbsolute(candidate))
      throw new CommandError('invalid_input', 'input.argv[0] must be a bare name or an absolute path.');
    for (const path of process.platform === 'win32' ? [candidate, `${candidate}.exe`] : [candidate]) {
      try {
        accessSync(path, constants.X_OK);
        if (!statSync(path).isFile()) continue;
      } catch {
        continue;
      }
      linkChain(path);
      return path;
    }
  }
  throw new CommandError('not_found', `There is no program ${name} on this machine.`);
}

const maxLinks = 40;

/**
 * Returns a path, the path after each resolved symbolic link, and so at the end the real path of the file.
 * @throws CommandError for a path that contains . or .., has more than 40 links, or leads through /proc or /dev. A path
 *   in these folders can name another file in another process, so the checked program could differ from the started
 *   program.
 */
export function linkChain(path: string): string[] {
  const refuse = () =>
    new CommandError(
      'invalid_input',
      'input.argv[0] must be a path to a program without . or .. that does not lead through /proc or /dev, where each process has other files.',
    );
  if (process.platform !== 'win32' && normalize(path) !== path) throw refuse();
  const chain = [path];
  let remaining = path.split(sep).filter((part) => part !== '');
  let folder: string = sep;
  for (let links = 0; remaining.length > 0;) {
    if (process.platform === 'win32') break;
    const next = join(folder, remaining[0] as string);
    if (/^\/(proc|dev)(\/|$)/.test(next)) throw refuse();
    const isLink = lstatSync(next, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    if (!isLink) {
      [folder, remaining] = [next, remaining.slice(1)];
      continue;
    }
    links += 1;
    if (links > maxLinks) throw refuse();
    const target = resolve(dirname(next), readlinkSync(next));
    remaining = [...target.split(sep).filter((part) => part !== ''), ...remaining.slice(1)];
    folder = sep;
    chain.push(join(sep, ...remaining));
  }
  return chain;
}
