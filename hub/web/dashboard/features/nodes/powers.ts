import { AppWindow, Camera, Folder, Globe, Mic, Monitor } from 'lucide-react';
import type { LucideIcon } from 'lucide-react';
import type { DevicePower, Node } from '../../../../../shared/client/operations.ts';

/** What the owner of a machine allows or denies separately. */
export const powers = ['screen', 'camera', 'audio', 'files', 'system', 'browser'] as const;
export type Power = (typeof powers)[number];

export const powerIcons: Record<Power, LucideIcon> = {
  screen: Monitor,
  camera: Camera,
  audio: Mic,
  files: Folder,
  system: AppWindow,
  browser: Globe,
};

/** The command that shows whether a power works. */
export const trialOf: Record<Power, string> = {
  screen: 'node.capture_screen',
  camera: 'node.capture_camera',
  audio: 'node.capture_audio',
  files: 'node.files_list',
  system: 'system.run',
  browser: 'browser.navigate',
};

/** The switch of the hub for a power. Other powers have none. */
export const hubSwitchOf: Partial<Record<Power, 'allowSystem' | 'allowBrowser'>> = {
  system: 'allowSystem',
  browser: 'allowBrowser',
};

/** The power that a command needs; null if it needs none. */
export function powerOf(type: string): Power | null {
  if (type.startsWith('node.files_')) return 'files';
  const byTrial = powers.find((power) => trialOf[power] === type);
  if (byTrial !== undefined) return byTrial;
  if (type.startsWith('browser.')) return 'browser';
  return type.startsWith('system.') ? 'system' : null;
}

/** What keeps a power from working. */
export type Obstacle = 'hub' | 'paused' | 'owner' | 'system';

export interface PowerState {
  /** What the companion reports; null if it reports nothing. */
  device: DevicePower | null;
  /** Whether the hub allows it; null if the hub has no switch for it. */
  hub: boolean | null;
  obstacles: readonly Obstacle[];
  /** `unknown`: the companion does not report it; `trial`: only a use shows whether the system permits it. */
  verdict: 'works' | 'blocked' | 'unknown' | 'trial';
}

/** Whether a power of a node can be used now, and what is missing. */
export function powerState(
  node: Pick<Node, 'allowSystem' | 'allowBrowser' | 'device' | 'paused'>,
  power: Power,
): PowerState {
  const name = hubSwitchOf[power];
  const hub = name === undefined ? null : node[name];
  const device = node.device?.powers?.[power] ?? null;
  const system = device?.system.state;
  const obstacles: Obstacle[] = [];
  if (hub === false) obstacles.push('hub');
  if (node.paused) obstacles.push('paused');
  if (device?.isAllowed === false) obstacles.push('owner');
  if (system === 'denied' || system === 'missing') obstacles.push('system');
  const verdict =
    obstacles.length > 0 ? 'blocked' : device === null ? 'unknown' : system === 'unknown' ? 'trial' : 'works';
  return { device, hub, obstacles, verdict };
}
