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

const name = 'Outrigger Companion';

/** Whether the desktop shows trays. */
export async function desktopHasTray(): Promise<boolean> {
  return process.platform !== 'linux' || (await hasOwnerOnBus('org.kde.StatusNotifierWatcher'));
}

/** The companion's place in the tray: how it stands, and how to stop it without looking for its window. */
export class CompanionTray {
  readonly #tray: Tray;
  readonly #pictures: string;
  readonly #actions: TrayActions;
  #shown: TrayState | null = null;

  constructor(pictures: string, actions: TrayActions, state: TrayState) {
    this.#pictures = pictures;
    this.#actions = actions;
    this.#tray = new Tray(icon(pictures, state.mark));
    this.#tray.on('click', actions.open);
    this.show(state);
  }

  show(state: TrayState): void {
    // Each change is a message to the desktop.
    const shown = this.#shown;
    this.#shown = state;
    if (state.mark !== shown?.mark) this.#tray.setImage(icon(this.#pictures, state.mark));
    const isNew = state.isPaused !== shown?.isPaused;
    // On Linux a new tooltip is a new menu, and a click in one that stands open does nothing once another took its place; so there its picture alone says
    // how it stands, and the words change with what can be clicked.
    if (process.platform !== 'linux') this.#tray.setToolTip(`${name}: ${state.line}`);
    else if (isNew) this.#tray.setToolTip(state.isPaused ? `${name}: ${state.line}` : name);
    if (!isNew) return;
    const { open, pause, resume, quit } = this.#actions;
    this.#tray.setContextMenu(
      Menu.buildFromTemplate([
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
