import { join } from 'node:path';
import { Menu, nativeImage, nativeTheme, Tray } from 'electron';
import { hasOwnerOnBus } from './session-bus.ts';

/** What the tray shows at a glance. */
export type TrayMark = 'connected' | 'waiting' | 'offline' | 'paused';

export interface TrayState {
  mark: TrayMark;
  /** One line: whether it is connected, paused, or what is wrong. */
  line: string;
  isPaused: boolean;
}

interface TrayActions {
  open: () => void;
  pause: () => void;
  resume: () => void;
  quit: () => void;
}

/** Whether the desktop shows trays. */
export async function desktopHasTray(): Promise<boolean> {
  return process.platform !== 'linux' || (await hasOwnerOnBus('org.kde.StatusNotifierWatcher'));
}

/** The companion's place in the tray: how it stands, and how to stop it without looking for its window. */
export class CompanionTray {
  readonly #tray: Tray;
  readonly #pictures: string;
  readonly #actions: TrayActions;
  #shown = '';

  constructor(pictures: string, actions: TrayActions, state: TrayState) {
    this.#pictures = pictures;
    this.#actions = actions;
    this.#tray = new Tray(icon(pictures, state.mark));
    this.#tray.on('click', actions.open);
    this.show(state);
  }

  show(state: TrayState): void {
    // Each change of a menu is a message to the desktop.
    const text = JSON.stringify(state);
    if (text === this.#shown) return;
    this.#shown = text;
    const { open, pause, resume, quit } = this.#actions;
    this.#tray.setImage(icon(this.#pictures, state.mark));
    this.#tray.setToolTip(`Outrigger Companion: ${state.line}`);
    this.#tray.setContextMenu(
      Menu.buildFromTemplate([
        { label: state.line, enabled: false },
        { type: 'separator' },
        state.isPaused ? { label: 'Resume', click: resume } : { label: 'Pause', click: pause },
        { label: 'Open', click: open },
        { type: 'separator' },
        { label: 'Quit', click: quit },
      ]),
    );
  }

  remove(): void {
    this.#tray.destroy();
  }
}

/** macOS colours a picture itself, Windows says how dark its bar is; on Linux a bar is of any ground, whatever windows are. */
function icon(folder: string, mark: TrayMark): Electron.NativeImage {
  const shade =
    process.platform === 'darwin'
      ? 'Template'
      : process.platform === 'linux'
        ? '-any'
        : nativeTheme.shouldUseDarkColors
          ? '-dark'
          : '-light';
  return nativeImage.createFromPath(join(folder, `${mark}${shade}.png`));
}
