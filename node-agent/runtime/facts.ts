import { arch, hostname, release, uptime } from 'node:os';
import { battery, cpu, currentLoad, fsSize, mem } from 'systeminformation';
import type { z } from 'zod';
import { commands } from '../../shared/commands/catalog.ts';
import type { HostOffer } from '../../shared/companion/host.ts';
import { isAllowed, powers } from '../../shared/companion/settings.ts';
import type { LocalSettings } from '../../shared/companion/settings.ts';
import type { deviceFacts, deviceInfo } from '../../shared/contract/nodes/device.ts';
import { toStorableText } from '../../shared/json.ts';
import packageJson from '../package.json' with { type: 'json' };
import { findBrowser } from './commands/browser/find-browser.ts';
import { sandboxProblem } from './commands/browser/sandbox.ts';
import { listDisplays, screenProblem } from './commands/capture-devices.ts';
import { findTool } from './commands/media-tool.ts';
import type { SystemPermissions } from './permissions.ts';
import type { ProcessGuard } from './process-guard.ts';

export type DeviceFacts = z.input<typeof deviceFacts>;
export type DeviceInfo = z.input<typeof deviceInfo>;

export const appVersion = packageJson.version;

/** Minimum interval between reads of slow facts, which seldom change, in milliseconds. */
const slowFactsEveryMs = 60_000;
const readDeadlineMs = 8_000;

const clip = (text: string, length: number) => toStorableText(text).slice(0, length).toWellFormed();
const whole = (value: number) => (Number.isFinite(value) ? Math.max(0, Math.round(value)) : 0);
const percent = (value: number) => (Number.isFinite(value) ? Math.min(100, Math.max(0, value)) : 0);

/**
 * The command types that this machine can run now: those that the owner allows and whose tools are installed.
 * @param captures What the app around this runtime captures itself.
 */
export function capabilitiesOf(settings: LocalSettings, captures: HostOffer['captures'] = []): string[] {
  const ffmpeg = findTool('ffmpeg') !== null;
  const possible: Record<string, boolean> = {
    'node.capture_screen': settings.capture.screen && (captures.includes('screen') || screenProblem() === null),
    'node.capture_camera': settings.capture.camera && (captures.includes('camera') || ffmpeg),
    'node.capture_audio': settings.capture.audio && (captures.includes('audio') || ffmpeg),
    'system.run': settings.system.allowed,
  };
  return Object.values(commands)
    .filter(
      (command) =>
        possible[command.type] ??
        (command.gate !== 'browser' ||
          (settings.browser.allowed &&
            sandboxProblem(settings.browser) === null &&
            findBrowser(settings.browser.executablePath) !== null)),
    )
    .map((command) => command.type);
}

/** Describes this machine for its hub. */
export function describeDevice(settings: LocalSettings, name?: string, captures?: HostOffer['captures']): DeviceInfo {
  return {
    name: clip(name ?? hostname(), 200) || 'unnamed',
    platform: process.platform,
    arch: arch(),
    osVersion: clip(release(), 200),
    appVersion,
    capabilities: capabilitiesOf(settings, captures),
  };
}

/**
 * Describes the powers of this machine for its hub: the switch of the owner and the answer of the system. Details, such
 * as the names of cameras, are sent only for powers that the owner allows.
 */
export function describeDevicePowers(
  settings: LocalSettings,
  permissions: SystemPermissions,
  now: number,
): DeviceInfo['powers'] {
  return Object.fromEntries(
    powers.map((power) => {
      const { state, detail, remedy } = permissions[power];
      const allowed = isAllowed(settings, power, now);
      return [
        power,
        {
          isAllowed: allowed,
          until: allowed ? (settings.until[power] ?? null) : null,
          asksOwner: power === 'system' && settings.system.ask,
          system: {
            state,
            detail: allowed ? clip(detail, 500) : '',
            remedy:
              remedy === null
                ? null
                : {
                    text: clip(remedy.text, 500),
                    // A command that is cut does something else.
                    command:
                      remedy.action?.kind === 'copy' && remedy.action.command.length <= 500
                        ? toStorableText(remedy.action.command)
                        : null,
                  },
          },
        },
      ];
    }),
  );
}

/** Reads the facts of a heartbeat. A part that the system does not return in time is left out. */
export class FactReader {
  readonly #guard: ProcessGuard;
  #slow: DeviceFacts = {};
  #slowReadAt = -Infinity;

  constructor(guard: ProcessGuard) {
    this.#guard = guard;
  }

  async read(signal: AbortSignal): Promise<DeviceFacts> {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(readDeadlineMs)]);
    if (performance.now() - this.#slowReadAt > slowFactsEveryMs) {
      this.#slow = await this.#readSlow(deadline);
      this.#slowReadAt = performance.now();
    }
    const [load, memory] = await Promise.all([within(currentLoad(), deadline), within(mem(), deadline)]);
    const { cpu: model } = this.#slow;
    return {
      ...this.#slow,
      ...(model === undefined || load === undefined
        ? {}
        : { cpu: { ...model, loadPercent: percent(load.currentLoad) } }),
      ...(memory === undefined
        ? {}
        : { memory: { totalBytes: whole(memory.total), availableBytes: whole(memory.available) } }),
      uptimeSeconds: uptime(),
    };
  }

  async #readSlow(signal: AbortSignal): Promise<DeviceFacts> {
    const [processor, disks, power, displays] = await Promise.all([
      within(cpu(), signal),
      within(fsSize(), signal),
      within(battery(), signal),
      within(listDisplays(this.#guard, signal), signal),
    ]);
    return {
      ...(processor === undefined
        ? {}
        : {
            cpu: {
              model: clip(`${processor.manufacturer} ${processor.brand}`.trim(), 200),
              cores: whole(processor.cores),
              loadPercent: 0,
            },
          }),
      ...(disks === undefined
        ? {}
        : {
            disks: disks.slice(0, 50).map((disk) => ({
              mount: clip(disk.mount, 500),
              totalBytes: whole(disk.size),
              usedBytes: whole(disk.used),
            })),
          }),
      battery: power?.hasBattery === true ? { percent: percent(power.percent), charging: power.isCharging } : null,
      ...(displays === undefined
        ? {}
        : {
            displays: displays
              .slice(0, 16)
              .map(({ index, name, width, height }) => ({ index, name: clip(name, 200), width, height })),
          }),
    };
  }
}

async function within<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value | undefined> {
  const aborted = Promise.withResolvers<undefined>();
  const onAbort = () => aborted.resolve(undefined);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([promise.catch(() => undefined), aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
