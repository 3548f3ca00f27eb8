import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';

/** Whether the app starts when its user signs in. */
export interface Autostart {
  isOn(): boolean;
  /** @throws Error in words of its owner, when the system does not let it. */
  set(on: boolean): void;
}

/** The login items of macOS and Windows, as Electron's `app` offers them. */
export interface LoginItems {
  getLoginItemSettings(options?: { args?: string[] }): { openAtLogin: boolean };
  setLoginItemSettings(settings: { openAtLogin: boolean; args?: string[] }): void;
}

/** What a start at login adds, so that no window opens by itself. */
const hiddenArgument = '--hidden';

/** Start at login by the system's own list of login items. */
export function loginItemAutostart(items: LoginItems): Autostart {
  const args = [hiddenArgument];
  return {
    isOn: () => items.getLoginItemSettings({ args }).openAtLogin,
    set: (on) => items.setLoginItemSettings({ openAtLogin: on, args }),
  };
}

const fileName = 'outrigger-companion.desktop';

/**
 * Start at login by an entry in the autostart folder of the desktop (XDG).
 * @param program What is to be started: the AppImage itself (`APPIMAGE`), never what it is mounted as, or the installed program.
 */
export function desktopAutostart(
  program: string,
  { configHome, home }: { configHome: string | undefined; home: string },
): Autostart {
  // A relative XDG_CONFIG_HOME is to be ignored, its specification says.
  const config = configHome !== undefined && isAbsolute(configHome) ? configHome : join(home, '.config');
  const folder = join(config, 'autostart');
  const path = join(folder, fileName);
  return {
    isOn: () => {
      try {
        const text = readFileSync(path, 'utf8');
        // Desktops switch an entry off this way, rather than removing it.
        return !/^(Hidden\s*=\s*true|X-GNOME-Autostart-enabled\s*=\s*false)\s*$/m.test(text);
      } catch {
        return false;
      }
    },
    set: (on) => {
      try {
        if (!on) {
          rmSync(path, { force: true });
          return;
        }
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        const aside = `${path}.new-${process.pid}`;
        writeFileSync(aside, autostartEntry(program), { mode: 0o644, flush: true });
        renameSync(aside, path);
      } catch (error) {
        throw new Error(
          `${path} can't be written (${(error as NodeJS.ErrnoException).code ?? 'error'}); mend the permissions of its folder.`,
          { cause: error },
        );
      }
    },
  };
}

/** The entry for a program, with its path quoted as the Desktop Entry Specification asks. */
export function autostartEntry(program: string): string {
  return `[Desktop Entry]
Type=Application
Name=Outrigger Companion
Comment=Lets workflows of your hub use this machine, within what you allow
Exec=${startOf(program).map(quoteExec).join(' ')} ${hiddenArgument}
Icon=outrigger-companion
Terminal=false
X-GNOME-Autostart-enabled=true
`;
}

/** GLib looks for the first word before it undoes `%%`, and would not find a program with a `%` in its path; so there a shell is first. */
const startOf = (program: string) => (program.includes('%') ? ['/bin/sh', '-c', 'exec "$0" "$@"', program] : [program]);

/**
 * A word of an `Exec` line: in double quotes with `"`, backtick, `$` and backslash escaped, `%` doubled as field codes begin with it, and all backslashes
 * doubled once more, since the value itself is a string with escapes.
 */
function quoteExec(word: string): string {
  if (/[\n\r\t\0]/.test(word))
    throw new Error(
      `${JSON.stringify(word)} can't be started at login: its path has a line break or tab; rename its folder.`,
    );
  const quoted = `"${word.replaceAll(/["`$\\]/g, String.raw`\$&`).replaceAll('%', '%%')}"`;
  return quoted.replaceAll('\\', '\\\\');
}
