import type { Device } from './state.ts';

/** What can be listened with and played on; browsers name nothing before the person allowed the microphone. */
export async function readDevices(): Promise<{ microphones: Device[]; speakers: Device[] }> {
  const media = navigator.mediaDevices as MediaDevices | undefined;
  const found = (await media?.enumerateDevices().catch(() => [])) ?? [];
  const of = (kind: MediaDeviceKind) =>
    found
      // What is called so is another device once more: the one of the system, which the page offers itself.
      .filter((device) => device.kind === kind && !['', 'default', 'communications'].includes(device.deviceId))
      .map(({ deviceId, label }) => ({ id: deviceId, label }));
  return { microphones: of('audioinput'), speakers: of('audiooutput') };
}
