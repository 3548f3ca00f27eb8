import type { Device } from './state.ts';

/** What can be listened with and played on; browsers name nothing before the person allowed the microphone. */
export async function readDevices(): Promise<{ microphones: Device[]; speakers: Device[] }> {
  const media = navigator.mediaDevices as MediaDevices | undefined;
  const devices = (await media?.enumerateDevices().catch(() => [])) ?? [];
  const devicesOfKind = (kind: MediaDeviceKind) =>
    devices
      // What is called so is another device once more: the one of the system, which the page offers itself.
      .filter((device) => device.kind === kind && !['', 'default', 'communications'].includes(device.deviceId))
      .map(({ deviceId, label }) => ({ id: deviceId, label }));
  return { microphones: devicesOfKind('audioinput'), speakers: devicesOfKind('audiooutput') };
}
