import type { Device } from './state.ts';

/** Lists the microphones and loudspeakers. Browsers hide device names until the user has allowed the microphone. */
export async function readDevices(): Promise<{ microphones: Device[]; speakers: Device[] }> {
  const media = navigator.mediaDevices as MediaDevices | undefined;
  const devices = (await media?.enumerateDevices().catch(() => [])) ?? [];
  const devicesOfKind = (kind: MediaDeviceKind) =>
    devices
      // These ids are aliases of the system default, which the page offers as an option of its own.
      .filter((device) => device.kind === kind && !['', 'default', 'communications'].includes(device.deviceId))
      .map(({ deviceId, label }) => ({ id: deviceId, label }));
  return { microphones: devicesOfKind('audioinput'), speakers: devicesOfKind('audiooutput') };
}
