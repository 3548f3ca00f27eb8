import { join } from 'node:path';
import { Menu, nativeImage, nativeTheme, Tray } from 'electron';
import { hasOwnerOnBus } from './session-bus.ts';

export type TrayMark = 'connected' | 'waiting' | 'offline' | 'paused';

export interface TrayState {
  mark: TrayMark;
  /** One line: connected, paused, or the problem. */
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

/** Whether the desktop has a tray. Null if the desktop does not answer. */
export async function desktopHasTray(): Promise<boolean | null> {
  return process.platform !== 'linux' || (await hasOwnerOnBus('org.kde.StatusNotifierWatcher'));
}

/** The tray icon: shows the state of the companion, and pauses it without the window. */
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
    // Each change sends a message to the desktop, so unchanged parts are skipped.
    const shown = this.#shown;
    this.#shown = state;
    if (state.mark !== shown?.mark) this.#tray.setImage(icon(this.#pictures, state.mark));
    const isNew = state.isPaused !== shown?.isPaused;
    // On Linux a new tooltip replaces the menu, and clicks in an open menu that was replaced have no effect. So there
    // only the icon shows the state, and the tooltip changes only together with the menu.
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

/** macOS colours template images. Windows reports whether its taskbar is dark. Linux panels can have any colour. */
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
