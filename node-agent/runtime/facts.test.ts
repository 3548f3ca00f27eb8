import { expect, test } from 'vitest';
import { powers } from '../../shared/companion/settings.ts';
import { deviceInfo } from '../../shared/contract/nodes/device.ts';
import { describeDevice, describeDevicePowers } from './facts.ts';
import type { SystemPermissions } from './permissions.ts';
import { localSettings } from './settings.ts';

const now = Date.parse('2026-11-27T12:00:00Z');
const later = '2026-11-27T13:00:00.000Z';
const granted = (detail: string) => ({ state: 'granted' as const, detail, remedy: null });
const permissions = (some: Partial<SystemPermissions>): SystemPermissions => ({
  ...(Object.fromEntries(powers.map((power) => [power, granted(power)])) as SystemPermissions),
  ...some,
});

test('the hub gets details of the system only for powers that the owner allows', () => {
  const settings = localSettings.parse({ capture: { camera: true }, until: { camera: later } });
  const described = describeDevicePowers(settings, permissions({}), now);
  expect(described?.camera).toEqual({
    isAllowed: true,
    until: later,
    asksOwner: false,
    system: { state: 'granted', detail: 'camera', remedy: null },
  });
  expect(described?.audio).toEqual({
    isAllowed: false,
    until: null,
    asksOwner: false,
    system: { state: 'granted', detail: '', remedy: null },
  });
  expect(describeDevicePowers(settings, permissions({}), Date.parse(later))?.camera).toMatchObject({
    isAllowed: false,
    until: null,
    system: { detail: '' },
  });
});

test('texts of any length and with any characters make a heartbeat that the hub accepts', () => {
  const long = '\u0000\uD800'.repeat(1_000);
  const described = describeDevicePowers(
    localSettings.parse({ capture: { screen: true } }),
    permissions({
      screen: { state: 'denied', detail: long, remedy: { text: long, action: { kind: 'copy', command: long } } },
    }),
    now,
  );
  const device = { ...describeDevice(localSettings.parse({})), powers: described };
  expect(deviceInfo.parse(device).powers?.screen?.system).toMatchObject({ remedy: { command: null } });
});
