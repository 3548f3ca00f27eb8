import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { createOwnFile, readOwnFile } from '../runtime/own-file.ts';
import { execLine } from './desktop-entry.ts';

/** Controls whether the app starts when the user signs in. */
export interface Autostart {
  isOn(): boolean;
  /** @throws Error with a message for the owner when the system refuses. */
  set(on: boolean): void;
}

/** The login items of macOS and Windows, as Electron's `app` offers them. */
export interface LoginItems {
  getLoginItemSettings(options?: { args?: string[] }): { openAtLogin: boolean };
  setLoginItemSettings(settings: { openAtLogin: boolean; args?: string[]; name?: string }): void;
}

/** The companion that starts, if the user has several data folders. */
export interface AutostartTarget {
  dataFolder: string;
  /** Distinguishes entries of several data folders. Empty for the default data folder. */
  suffix: string;
}

/** Arguments of a start at login: no window, and the data folder if it is not the default one. */
const argumentsFor = ({ dataFolder, suffix }: AutostartTarget) => [
  ...(suffix === '' ? [] : [`--data-folder=${dataFolder}`]),
  '--hidden',
];

/** Starts at login through the login items of macOS and Windows. */
export function loginItemAutostart(items: LoginItems, target: AutostartTarget): Autostart {
  const args = argumentsFor(target);
  const name = target.suffix === '' ? {} : { name: `outrigger-companion${target.suffix}` };
  return {
    isOn: () => items.getLoginItemSettings({ args }).openAtLogin,
    set: (on) => items.setLoginItemSettings({ openAtLogin: on, args, ...name }),
  };
}

/**
 * Starts at login through an entry in the XDG autostart folder.
 * @param program The installed program or the AppImage file (`APPIMAGE`), never a path inside its mount.
 */
export function desktopAutostart(
  program: string,
  target: AutostartTarget,
  { configHome, home }: { configHome: string | undefined; home: string },
): Autostart {
  // The XDG specification requires that a relative XDG_CONFIG_HOME is ignored.
  const config = configHome !== undefined && isAbsolute(configHome) ? configHome : join(home, '.config');
  const folder = join(config, 'autostart');
  const path = join(folder, `outrigger-companion${target.suffix}.desktop`);
  return {
    isOn: () => {
      try {
        const text = readOwnFile(path).toString();
        // Desktops disable an entry with these keys instead of removing it.
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
        const temporaryPath = `${path}.new-${process.pid}`;
        createOwnFile(temporaryPath, autostartEntry(execLine(program, argumentsFor(target))), 0o644);
        renameSync(temporaryPath, path);
      } catch (error) {
        throw new Error(
          `${path} can't be written (${(error as NodeJS.ErrnoException).code ?? 'error'}); fix the permissions of its folder.`,
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
