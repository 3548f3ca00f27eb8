import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { CommandError } from './handler.ts';

/** Where programs are looked for, whatever the companion's own PATH is. */
export const defaultPath =
  process.platform === 'win32'
    ? (process.env['PATH'] ?? '')
    : '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The path of the program that a name means, as a shell would find it on the minimal PATH. @throws CommandError */
export function findProgram(name: string): string {
  const candidates =
    name.includes('/') || isAbsolute(name) ? [name] : defaultPath.split(delimiter).map((folder) => join(folder, name));
  for (const candidate of candidates) {
    if (!isAbsolute(candidate))
      throw new CommandError('invalid_input', 'input.argv[0] must be a bare name or an absolute path.');
    for (const path of process.platform === 'win32' ? [candidate, `${candidate}.exe`] : [candidate]) {
      try {
        accessSync(path, constants.X_OK);
        if (statSync(path).isFile()) return path;
      } catch {
        // Not this one.
      }
    }
  }
  throw new CommandError('not_found', `There is no program ${name} on this machine.`);
}
