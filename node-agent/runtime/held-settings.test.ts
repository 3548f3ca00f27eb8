import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { AuditLog } from './audit.ts';
import { DataFolder } from './data-folder.ts';
import { changeSettings } from './owner-changes.ts';

let folder: string;
let data: DataFolder;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'outrigger-held-'));
  data = new DataFolder(folder);
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true, force: true });
});
const file = () => join(folder, 'settings.json');
const write = (value: object) => writeFileSync(file(), JSON.stringify(value));
const onEdit = () => undefined;

test('an edit of another program counts at once where it denies more, and where it allows more only once the owner accepts it', async () => {
  await changeSettings(data, { change: 'allow', power: 'screen' });
  data.holdSettings({ onEdit });
  write({ capture: { camera: true } });
  expect(data.settingsInForce().capture).toMatchObject({ screen: false, camera: false });
  // A companion that starts anew does not find it either.
  expect(new DataFolder(folder).settingsInForce().capture).toMatchObject({ screen: false, camera: false });
  expect(data.held?.edited).toMatchObject({
    needsConsent: true,
    changes: expect.arrayContaining(['capture.camera: false → true']) as string[],
  });
  await changeSettings(data, { change: 'accept_settings' });
  expect(data.settingsInForce().capture).toMatchObject({ screen: false, camera: true });
  expect(data.held?.edited).toBeNull();
  expect(JSON.parse(readFileSync(file(), 'utf8'))).toMatchObject({ capture: { camera: true } });
});

test('the owner accepts the newest edit only, not an earlier one that it replaced', async () => {
  await changeSettings(data, { change: 'allow', power: 'screen' });
  data.holdSettings({ onEdit });
  write({ capture: { camera: true } });
  expect(data.settingsInForce().capture).toMatchObject({ camera: false });
  write({ capture: { screen: false, camera: false } });
  expect(data.settingsInForce().capture).toMatchObject({ camera: false });
  await changeSettings(data, { change: 'accept_settings' });
  expect(data.settingsInForce().capture).toMatchObject({ screen: false, camera: false });
});

test.each([
  ['a power', { capture: { screen: true, camera: true } }],
  ['more time', { capture: { screen: true }, until: { screen: '2999-01-01T00:00:00.000Z' } }],
  ['the end of a pause', { paused: false }],
  ['every program', { system: { allowed: true, ask: true, programs: [] } }],
  ['no question', { system: { allowed: true, ask: false, programs: ['uname'] } }],
  ['a shared folder', { sharedFolders: ['/etc'] }],
  ['every host', { browser: { allowed: true, blockHosts: [] } }],
])('an edit that allows %s does not count', async (_what, edit) => {
  write({
    paused: true,
    capture: { screen: true },
    until: { screen: '2998-01-01T00:00:00.000Z' },
    system: { allowed: true, ask: true, programs: ['uname'] },
    browser: { allowed: true, blockHosts: ['example.org'] },
  });
  const before = data.readSettings();
  data.holdSettings({ onEdit });
  write({ ...JSON.parse(JSON.stringify(before)), ...edit });
  const { browser, ...others } = data.readSettings();
  expect(others.paused).toBe(true);
  expect(others.capture.camera).toBe(false);
  expect(others.until.screen).toBe(before.until.screen);
  expect(others.system).toMatchObject({ ask: true, programs: ['uname'] });
  expect(others.sharedFolders).toEqual([]);
  expect(browser.blockHosts).toEqual(['example.org']);
});

test('an edit while no companion ran is shown to the owner', async () => {
  const audit = new AuditLog(data.audit);
  await changeSettings(data, { change: 'allow', power: 'screen' }, Date.now(), audit);
  const start = () => new DataFolder(folder).holdSettings({ knownHash: new AuditLog(data.audit).settingsHash, onEdit });
  expect(start().edited).toBeNull();
  write({ capture: { camera: true } });
  expect(start().edited).toMatchObject({
    needsConsent: false,
    detail: expect.stringContaining('did not run') as string,
  });
});

test('a clock that is turned back does not allow again what was over', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'], now: new Date('2026-05-01T12:00:00Z') });
  data.holdSettings({ onEdit });
  await changeSettings(data, { change: 'allow', power: 'screen', minutes: 30 });
  vi.advanceTimersByTime(31 * 60_000);
  expect(data.settingsInForce().capture.screen).toBe(false);
  vi.setSystemTime(new Date('2026-05-01T12:05:00Z'));
  expect(data.settingsInForce().capture.screen).toBe(false);
  const again = new DataFolder(folder);
  again.holdSettings({ notBefore: Date.parse('2026-05-01T12:31:00Z'), onEdit });
  expect(again.settingsInForce().capture.screen).toBe(false);
});
