import type { SystemPermission } from '../../shared/companion/state.ts';
import { isBehindWayland, paneRemedy } from './permission-answers.ts';
import type { PictureFault } from './picture.ts';

/** Possible causes of an empty capture, and remedies. Many systems deny a power only by black pictures or silence. */

const withText = (state: SystemPermission['state'], detail: string, text: string): SystemPermission => ({
  state,
  detail,
  remedy: { text, action: null },
});

export const faultText: Record<PictureFault, string> = { black: 'all black', one_colour: 'all one colour' };

/** @param byApp Whether the app around this runtime took the picture. */
export function emptyScreen(byApp: boolean): SystemPermission {
  if (process.platform === 'darwin')
    return {
      state: 'denied',
      detail: 'macOS does not let the companion see the screen.',
      remedy: paneRemedy('screen'),
    };
  if (byApp && process.platform === 'linux' && (process.env['WAYLAND_DISPLAY'] ?? '') !== '')
    return {
      state: 'denied',
      detail: 'The desktop shared a screen on which nothing is drawn, or does not share it any more.',
      remedy: { text: 'Choose again which screen is shared.', action: { kind: 'ask_system', power: 'screen' } },
    };
  if (!byApp && isBehindWayland())
    return withText(
      'denied',
      'Programs of X see nothing of a Wayland desktop.',
      'Use the app, which asks the desktop for the screen, or sign in to an X11 session.',
    );
  return withText(
    'unknown',
    'Nothing is drawn on this screen, or it is locked or asleep.',
    'Unlock it, open a window there, and test again.',
  );
}

/** Without the permission, macOS returns the wallpaper alone. A program cannot distinguish that from a real picture. */
export const maybeOnlyWallpaper = (): SystemPermission => ({
  state: 'unknown',
  detail: 'Where the picture shows the wallpaper without any window, macOS does not let the companion see the screen.',
  remedy: paneRemedy('screen'),
});

export function emptyCamera(): SystemPermission {
  const pane = paneRemedy('camera');
  const remedyText = 'Open its shutter, close other programs that use it, and test again.';
  return {
    state: 'unknown',
    detail: `The camera is covered or has no signal${pane === null ? '' : ', or the system does not let the companion use it'}.`,
    remedy: { text: pane === null ? remedyText : `${remedyText} ${pane.text}`, action: pane?.action ?? null },
  };
}

export function silentMicrophone(muted: boolean): SystemPermission {
  if (muted)
    return {
      state: 'denied',
      detail: 'The microphone is muted.',
      remedy: {
        text: 'Switch it on.',
        action: { kind: 'copy', command: 'pactl set-source-mute @DEFAULT_SOURCE@ 0' },
      },
    };
  const pane = paneRemedy('audio');
  if (pane !== null)
    return {
      state: process.platform === 'darwin' ? 'denied' : 'unknown',
      detail: 'The system does not let the companion use the microphone, or the microphone is switched off.',
      remedy: pane,
    };
  return withText(
    'unknown',
    'Nothing that sounds is connected to the default source, or it is switched off.',
    "Choose the microphone in the system's sound settings, raise its volume, and test again.",
  );
}
