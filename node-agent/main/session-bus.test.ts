import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../test/fixtures/until.ts';
import { findTool } from '../runtime/commands/media-tool.ts';
import { hasOwnerOnBus } from './session-bus.ts';

describe.skipIf(findTool('dbus-daemon') === null)('a session bus (needs dbus-daemon)', () => {
  let daemon: ChildProcess;
  let address = '';
  beforeAll(async () => {
    daemon = spawn('dbus-daemon', ['--session', '--nofork', '--print-address'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    daemon.stdout?.on('data', (chunk: Buffer) => {
      address += chunk.toString();
    });
    await until(
      () => address.includes('\n'),
      () => 'no bus',
    );
    address = address.trim();
  });
  afterAll(() => daemon?.kill());

  test('reports whether a name has an owner', async () => {
    expect(await hasOwnerOnBus('org.freedesktop.DBus', address)).toBe(true);
    expect(await hasOwnerOnBus('org.kde.StatusNotifierWatcher', address)).toBe(false);
    expect(await hasOwnerOnBus('not a name', address)).toBe(false);
  });
});

test('names have no owner without a bus, and their owner is unknown while the bus is silent', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'outrigger-bus-'));
  const silent = createServer(() => undefined);
  await new Promise<void>((done) => silent.listen(join(folder, 'bus'), done));
  try {
    expect(await hasOwnerOnBus('org.freedesktop.DBus', '')).toBe(false);
    expect(await hasOwnerOnBus('org.freedesktop.DBus', `unix:path=${join(folder, 'nothing')}`)).toBe(false);
    expect(await hasOwnerOnBus('org.freedesktop.DBus', `unix:path=${join(folder, 'bus')}`, 100)).toBe(null);
  } finally {
    silent.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
