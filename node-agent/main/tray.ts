import { Menu, nativeImage, Tray } from 'electron';
import { hasOwnerOnBus } from './session-bus.ts';
import { drawTrayIcon } from './tray-icon.ts';
import type { TrayMark } from './tray-icon.ts';

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

const iconSize = 22;

/** Whether the desktop shows trays. */
export async function desktopHasTray(): Promise<boolean> {
  return process.platform !== 'linux' || (await hasOwnerOnBus('org.kde.StatusNotifierWatcher'));
}

/** The companion's place in the tray: how it stands, and how to stop it without looking for its window. */
export class CompanionTray {
  readonly #tray: Tray;
  readonly #actions: TrayActions;
  #shown = '';

  constructor(actions: TrayActions, state: TrayState) {
    this.#actions = actions;
    this.#tray = new Tray(icon(state.mark));
    this.#tray.on('click', actions.open);
    this.show(state);
  }

  show(state: TrayState): void {
    // Each change of a menu is a message to the desktop.
    const text = JSON.stringify(state);
    if (text === this.#shown) return;
    this.#shown = text;
    const { open, pause, resume, quit } = this.#actions;
    this.#tray.setImage(icon(state.mark));
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

function icon(mark: TrayMark): Electron.NativeImage {
  const image = nativeImage.createFromBitmap(drawTrayIcon(mark, iconSize), { width: iconSize, height: iconSize });
  image.addRepresentation({
    scaleFactor: 2,
    width: iconSize * 2,
    height: iconSize * 2,
    buffer: nativeImage
      .createFromBitmap(drawTrayIcon(mark, iconSize * 2), { width: iconSize * 2, height: iconSize * 2 })
      .toPNG(),
  });
  return image;
}
