import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { execLine } from './desktop-entry.ts';

/** Whether the app starts when its user signs in. */
export interface Autostart {
  isOn(): boolean;
  /** @throws Error in words of its owner, when the system does not let it. */
  set(on: boolean): void;
}

/** The login items of macOS and Windows, as Electron's `app` offers them. */
export interface LoginItems {
  getLoginItemSettings(options?: { args?: string[] }): { openAtLogin: boolean };
  setLoginItemSettings(settings: { openAtLogin: boolean; args?: string[]; name?: string }): void;
}

/** Which companion of this user it is that starts. */
export interface AutostartTarget {
  dataFolder: string;
  /** What tells its entry from those of others of this user; empty for the usual one. */
  suffix: string;
}

/** What a start at login adds, so that no window opens by itself and each hub has its own. */
const argumentsFor = ({ dataFolder, suffix }: AutostartTarget) => [
  ...(suffix === '' ? [] : [`--data-folder=${dataFolder}`]),
  '--hidden',
];

/** Start at login by the system's own list of login items. */
export function loginItemAutostart(items: LoginItems, target: AutostartTarget): Autostart {
  const args = argumentsFor(target);
  const name = target.suffix === '' ? {} : { name: `outrigger-companion${target.suffix}` };
  return {
    isOn: () => items.getLoginItemSettings({ args }).openAtLogin,
    set: (on) => items.setLoginItemSettings({ openAtLogin: on, args, ...name }),
  };
}

/**
 * Start at login by an entry in the autostart folder of the desktop (XDG).
 * @param program What is to be started: the AppImage itself (`APPIMAGE`), never what it is mounted as, or the installed program.
 */
export function desktopAutostart(
  program: string,
  target: AutostartTarget,
  { configHome, home }: { configHome: string | undefined; home: string },
): Autostart {
  // A relative XDG_CONFIG_HOME is to be ignored, its specification says.
  const config = configHome !== undefined && isAbsolute(configHome) ? configHome : join(home, '.config');
  const folder = join(config, 'autostart');
  const path = join(folder, `outrigger-companion${target.suffix}.desktop`);
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
        writeFileSync(aside, autostartEntry(execLine(program, argumentsFor(target))), { mode: 0o644, flush: true });
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

function autostartEntry(exec: string): string {
  return `[Desktop Entry]
Type=Application
Name=Outrigger Companion
Comment=Lets workflows of your hub use this machine, within what you allow
Exec=${exec}
Icon=outrigger-companion
Terminal=false
X-GNOME-Autostart-enabled=true
`;
}
