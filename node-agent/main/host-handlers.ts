import { writeFile } from 'node:fs/promises';
import { systemPreferences } from 'electron';
import type { HostOffer } from '../../shared/companion/host.ts';
import type { Power } from '../../shared/companion/settings.ts';
import type { SystemPermission } from '../../shared/companion/state.ts';
import type { HostHandlers } from './host-requests.ts';
import { keyStoreName, seal, unseal } from './key-store.ts';
import type { Recorder } from './recorder.ts';
import { captureDisplay, chooseScreen } from './screen-capture.ts';

/** Forces capturing by the app: `1`, or `stream` to capture the screen as under Wayland. */
const captureOverride = () => process.env['OUTRIGGER_APP_CAPTURE'];
const isWayland = () => process.platform === 'linux' && process.env['XDG_SESSION_TYPE'] === 'wayland';
const mayOnlyCaptureAsApp = () => process.platform === 'darwin' || isWayland();

/** Capabilities of the app that the runtime can use on this system. */
export async function readOffer(): Promise<HostOffer> {
  const captures = mayOnlyCaptureAsApp() || ['1', 'stream'].includes(captureOverride() ?? '');
  return { keyStore: await keyStoreName(), captures: captures ? ['screen', 'camera', 'audio'] : [] };
}

const media = { screen: 'screen', camera: 'camera', audio: 'microphone' } as const;

/** The macOS permission for a power. Null on other systems and for powers without a permission. */
function permissionOf(power: Power): SystemPermission | null {
  if (process.platform !== 'darwin' || !(power in media)) return null;
  const pane = media[power as keyof typeof media];
  const status = systemPreferences.getMediaAccessStatus(pane);
  if (status === 'granted') return { state: 'granted', detail: 'macOS allows it.', remedy: null };
  const name = pane === 'screen' ? 'the screen' : `the ${pane}`;
  return {
    state: status === 'not-determined' ? 'unknown' : 'denied',
    detail: status === 'not-determined' ? 'macOS asks at the first use.' : `macOS does not let this app use ${name}.`,
    remedy: {
      text: `Allow Outrigger Companion to use ${name} in System Settings, Privacy & Security.`,
      action: { kind: 'open_settings', pane },
    },
  };
}

const write = async (file: string, bytes: Buffer) => {
  await writeFile(file, bytes, { mode: 0o600 });
  return {};
};

/** Handlers for the requests of the runtime. */
export function createHostHandlers(recorder: Recorder): HostHandlers {
  return {
    seal: async ({ text }) => ({ sealed: await seal(text) }),
    unseal: async ({ sealed }) => ({ text: await unseal(sealed) }),
    permission: async ({ power }) => ({ permission: permissionOf(power) }),
    captureScreen: async ({ display, format, quality, file }) =>
      write(
        file,
        isWayland() || captureOverride() === 'stream'
          ? await recorder.takeScreen(format, quality, chooseScreen)
          : await captureDisplay(display, format, quality),
      ),
    captureCamera: async ({ device, file }) => write(file, await recorder.takePicture(device)),
    captureAudio: async ({ device, seconds, file }) => write(file, await recorder.recordSound(device, seconds)),
  };
}
