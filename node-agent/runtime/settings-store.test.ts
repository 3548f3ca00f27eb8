import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { LocalSettings } from '../../shared/companion/settings.ts';
import { mountSmallDisk } from '../../test/fixtures/small-disk.ts';
import { AuditLog } from './audit.ts';
import { DataFolder } from './data-folder.ts';
import { changeSettings, recordSettingsHash } from './owner-changes.ts';

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

test('an edit of another program denies immediately, and allows more only after the owner accepts it', async () => {
  await changeSettings(data, { change: 'allow', power: 'screen' });
  data.openSettingsStore({ onEdit });
  write({ capture: { camera: true } });
  expect(data.settingsInForce().capture).toMatchObject({ screen: false, camera: false });
  // A companion that starts again does not find the edit either.
  expect(new DataFolder(folder).settingsInForce().capture).toMatchObject({ screen: false, camera: false });
  expect(data.settingsStore?.edited).toMatchObject({
    needsConsent: true,
    changes: expect.arrayContaining(['capture.camera: false → true']) as string[],
  });
  await changeSettings(data, { change: 'accept_settings' });
  expect(data.settingsInForce().capture).toMatchObject({ screen: false, camera: true });
  expect(data.settingsStore?.edited).toBeNull();
  expect(JSON.parse(readFileSync(file(), 'utf8'))).toMatchObject({ capture: { camera: true } });
});

test('the owner accepts the newest edit only, not an earlier one that it replaced', async () => {
  await changeSettings(data, { change: 'allow', power: 'screen' });
  data.openSettingsStore({ onEdit });
  write({ capture: { camera: true } });
  expect(data.settingsInForce().capture).toMatchObject({ camera: false });
  write({ capture: { screen: false, camera: false } });
  expect(data.settingsInForce().capture).toMatchObject({ camera: false });
  await changeSettings(data, { change: 'accept_settings' });
  expect(data.settingsInForce().capture).toMatchObject({ screen: false, camera: false });
});

test("an edit with the maximum number of denying rules removes none of the owner's rules", async () => {
  await changeSettings(data, { change: 'add_rule', decision: 'deny', pattern: 'rm **' });
  const store = data.openSettingsStore({ onEdit });
  const own = store.read().system.rules;
  const others = Array.from({ length: 500 }, (_, number) => ({
    ...own[0],
    id: randomUUID(),
    pattern: `other-${number}`,
  }));
  write({ system: { rules: others } });
  const { rules } = store.read().system;
  expect(rules).toHaveLength(500);
  expect(rules).toEqual(expect.arrayContaining(own));
});

test('accepting the edit that the owner saw does not accept a later edit', async () => {
  await changeSettings(data, { change: 'allow', power: 'screen' });
  const store = data.openSettingsStore({ onEdit });
  write({ capture: { screen: true, camera: true } });
  store.read();
  const seen = store.edited?.hash as string;
  write({ capture: { screen: true, camera: true }, sharedFolders: ['/'] });
  await expect(changeSettings(data, { change: 'accept_settings', seen })).rejects.toThrow('was changed again');
  expect(data.readSettings()).toMatchObject({ sharedFolders: [], capture: { camera: false } });
});

test.each([
  ['a power', { capture: { screen: true, camera: true } }],
  ['more time', { capture: { screen: true }, until: { screen: '2999-01-01T00:00:00.000Z' } }],
  ['the end of a pause', { paused: false }],
  ['every program', { system: { allowed: true, ask: true, programs: [] } }],
  ['no question', { system: { allowed: true, ask: false, programs: ['uname'] } }],
  ['a shared folder', { sharedFolders: ['/etc'] }],
  ['every host', { browser: { allowed: true, blockHosts: [] } }],
])('an edit that allows %s has no effect without consent', async (_what, edit) => {
  write({
    paused: true,
    capture: { screen: true },
    until: { screen: '2998-01-01T00:00:00.000Z' },
    system: { allowed: true, ask: true, programs: ['uname'] },
    browser: { allowed: true, blockHosts: ['example.org'] },
  });
  const before = data.readSettings();
  data.openSettingsStore({ onEdit });
  write({ ...JSON.parse(JSON.stringify(before)), ...edit });
  const { browser, ...others } = data.readSettings();
  expect(others.paused).toBe(true);
  expect(others.capture.camera).toBe(false);
  expect(others.until.screen).toBe(before.until.screen);
  expect(others.system).toMatchObject({ ask: true, programs: ['uname'] });
  expect(others.sharedFolders).toEqual([]);
  expect(browser.blockHosts).toEqual(['example.org']);
});

/** Starts on the folder as a new process does, and records the settings in force. */
const startData = () => {
  const next = new DataFolder(folder);
  const store = next.openSettingsStore({ recorded: next.recordedSettings(), onEdit });
  if (store.needsRecord) new AuditLog(next.audit).note('settings.edited', store.editSummary, recordSettingsHash(next));
  return { next, store };
};
const start = () => startData().store;

test('an edit while no companion ran denies immediately, and allows only after the owner accepts it', async () => {
  await changeSettings(data, { change: 'allow', power: 'screen' });
  expect(start().edited).toBeNull();
  write({ capture: { camera: true } });
  for (let round = 0; round < 2; round += 1) {
    const store = start();
    expect(store.read().capture).toMatchObject({ screen: false, camera: false });
    expect(store.edited).toMatchObject({
      needsConsent: true,
      detail: expect.stringContaining('did not run') as string,
      changes: expect.arrayContaining(['capture.camera: false → true']) as string[],
    });
  }
  // Programs of the owner that read the folder without a companion.
  expect(new DataFolder(folder).settingsInForce().capture).toMatchObject({ screen: false, camera: false });
  await changeSettings(new DataFolder(folder), { change: 'accept_settings' });
  expect(start().edited).toBeNull();
  expect(start().read().capture).toMatchObject({ screen: false, camera: true });
});

test('a change without a companion does not accept what another program wrote into the file', async () => {
  await changeSettings(data, { change: 'allow', power: 'screen' });
  write({ capture: { screen: true, camera: true } });
  await changeSettings(data, { change: 'pause' });
  expect(start().read()).toMatchObject({ paused: true, capture: { screen: true, camera: false } });
});

const backup = { capture: { screen: true, camera: true }, sharedFolders: ['/etc'], system: { allowed: true } };

test.each([
  ['an edit while no companion ran', () => undefined],
  ['an edit without a copy of the settings before', () => rmSync(join(folder, 'settings.recorded.json'))],
  ['a restored backup, whose log does not match', () => rmSync(data.audit)],
])('changes of the owner keep %s waiting, also after a restart', async (_what, damage) => {
  await changeSettings(data, { change: 'pause' });
  damage();
  write(backup);
  for (const change of [{ change: 'pause' }, { change: 'resume' }, { change: 'deny', power: 'camera' }] as const) {
    await changeSettings(startData().next, change);
    // The same holds without a companion.
    await changeSettings(new DataFolder(folder), { change: 'allow', power: 'audio' });
    expect(start().read()).toMatchObject({
      capture: { screen: false, camera: false, audio: true },
      sharedFolders: [],
      system: { allowed: false },
    });
    expect(start().edited).toMatchObject({
      needsConsent: true,
      changes: expect.arrayContaining(['capture.screen: false → true']) as string[],
    });
  }
  await changeSettings(startData().next, { change: 'accept_settings' });
  expect(start().edited).toBeNull();
  expect(start().read()).toMatchObject({
    paused: false,
    capture: { screen: true, camera: false, audio: true },
    sharedFolders: ['/etc'],
    system: { allowed: true },
  });
});

test('changes of the owner keep a waiting edit that was made while the companion ran', async () => {
  await changeSettings(data, { change: 'allow', power: 'screen' });
  const store = data.openSettingsStore({ onEdit });
  write(backup);
  await changeSettings(data, { change: 'pause' });
  await changeSettings(data, { change: 'deny', power: 'screen' });
  expect(store.read()).toMatchObject({ paused: true, capture: { screen: false, camera: false }, sharedFolders: [] });
  // A later start finds the settings in force.
  expect(start().edited).toBeNull();
  await changeSettings(data, { change: 'accept_settings' });
  expect(store.read()).toMatchObject({
    paused: true,
    capture: { screen: false, camera: true },
    sharedFolders: ['/etc'],
  });
});

test('a rule of the owner stays in force while an edit without it waits, also after a restart', async () => {
  await changeSettings(data, { change: 'add_rule', decision: 'deny', pattern: 'rm **' });
  write(backup);
  const allowed = await changeSettings(new DataFolder(folder), {
    change: 'add_rule',
    decision: 'allow',
    pattern: 'ls',
  });
  const [refused] = allowed.system.rules.filter(({ decision }) => decision === 'deny');
  expect(
    start()
      .read()
      .system.rules.map(({ pattern }) => pattern),
  ).toEqual(expect.arrayContaining(['rm **', 'ls']));
  await changeSettings(startData().next, { change: 'remove_rule', id: refused?.id as string });
  expect(start().read().system.rules).toMatchObject([{ pattern: 'ls' }]);
  expect(start().edited).toMatchObject({ needsConsent: true });
});

const disk = mountSmallDisk();
test.skipIf(disk === null)(
  "the owner's permissions stay in force when a full disk stores a denial, but no copy and no log entry of the next one",
  async () => {
    const full = disk as string;
    try {
      const small = new DataFolder(join(full, 'data'));
      for (const power of ['screen', 'camera', 'audio', 'browser'] as const)
        await changeSettings(small, { change: 'allow', power });
      const { bavail, bsize } = statfsSync(full);
      writeFileSync(join(full, 'filler'), Buffer.alloc(bavail * bsize));
      await changeSettings(small, { change: 'deny', power: 'camera' });
      const nowhere = new AuditLog(join(full, 'missing', 'audit.jsonl'));
      await changeSettings(new DataFolder(small.path), { change: 'deny', power: 'browser' }, Date.now(), nowhere);
      rmSync(join(full, 'filler'));
      const later = new DataFolder(small.path);
      const store = later.openSettingsStore({ recorded: later.recordedSettings(), onEdit });
      expect(store.read()).toMatchObject({
        capture: { screen: true, camera: false, audio: true },
        browser: { allowed: false },
      });
      expect(store.edited).toMatchObject({ needsConsent: false });
      expect(store.editSummary).toBe('settings.json does not match the log');
    } finally {
      execFileSync('umount', [full]);
      rmSync(full, { recursive: true });
    }
  },
);

test('an edit disappears when the owner discards it or allows all of it, and the log records it', async () => {
  await changeSettings(data, { change: 'pause' });
  write({ capture: { camera: true } });
  const { next, store } = startData();
  const summaries = () => new AuditLog(data.audit).read(10).map(({ summary }) => summary);
  await changeSettings(next, { change: 'discard_settings' });
  expect(store.edited).toBeNull();
  expect(start().edited).toBeNull();
  expect(start().read()).toMatchObject({ paused: true, capture: { camera: false } });
  expect(summaries().at(-1)).toContain('capture.camera: false → true');

  write({ paused: true, capture: { camera: true } });
  await changeSettings(new DataFolder(folder), { change: 'allow', power: 'camera' });
  expect(start().edited).toBeNull();
  expect(start().read().capture.camera).toBe(true);
});

test('the log records the changes that the owner accepted, shortened', async () => {
  await changeSettings(data, { change: 'allow', power: 'screen' });
  write({ capture: { screen: true, camera: true }, sharedFolders: [`/${'x'.repeat(1_000)}`] });
  await changeSettings(new DataFolder(folder), { change: 'accept_settings' });
  const [entry] = new AuditLog(data.audit).read(1);
  expect(entry?.summary).toMatch(/^accept settings \(2 changes\): sharedFolders: \[\] → /);
  expect(entry?.summary).toContain('capture.camera: false → true');
  expect(entry?.summary.length).toBeLessThanOrEqual(300);
});

test('an edit while no companion ran that only denies is in force and shown', async () => {
  await changeSettings(data, { change: 'allow', power: 'screen' });
  write({ ...JSON.parse(readFileSync(file(), 'utf8')), paused: true });
  const store = start();
  expect(store.read()).toMatchObject({ paused: true, capture: { screen: true } });
  expect(store.edited).toMatchObject({ needsConsent: false });
});

test('an invalid file at the start allows nothing in addition when another program replaces it', async () => {
  await changeSettings(data, { change: 'allow', power: 'screen' });
  writeFileSync(file(), '{');
  const store = start();
  expect(() => store.read()).toThrow('settings.json is broken');
  write({ capture: { screen: true, camera: true } });
  expect(store.read().capture).toMatchObject({ screen: true, camera: false });
});

test.each([
  ['the copy of the settings', (): void => rmSync(join(folder, 'settings.recorded.json'))],
  ['the log', (): void => rmSync(data.audit)],
])('without %s an edited file allows nothing until the owner accepts it', async (_what, remove) => {
  await changeSettings(data, { change: 'allow', power: 'screen' });
  remove();
  write({ capture: { screen: true, camera: true }, system: { allowed: true, rules: [] } });
  const store = start();
  expect(store.read()).toMatchObject({
    files: { allowed: false },
    capture: { screen: false, camera: false },
    system: { allowed: false, ask: true },
  });
  expect(store.edited).toMatchObject({ needsConsent: true });
  expect(store.accept()?.capture).toMatchObject({ screen: true, camera: true });
});

test('the settings of a first start, or of a version that recorded none, are in force', async () => {
  write({ capture: { camera: true } });
  expect(start().edited).toBeNull();
  await changeSettings(data, { change: 'allow', power: 'screen' });
  // An earlier version recorded the hash in the log, without a copy.
  rmSync(join(folder, 'settings.recorded.json'));
  expect(start().edited).toBeNull();
  expect(start().read().capture).toMatchObject({ screen: true, camera: true });
});

test('a setting that a new version adds with its default does not count as an edit', async () => {
  await changeSettings(data, { change: 'allow', power: 'screen' });
  const earlier = JSON.parse(readFileSync(file(), 'utf8')) as LocalSettings;
  delete (earlier.system as Partial<LocalSettings['system']>).variables;
  write(earlier);
  new AuditLog(data.audit).note('owner.change', 'allow screen', recordSettingsHash(data, earlier));
  expect(start().edited).toBeNull();
  expect(start().read().capture.screen).toBe(true);
  write({ ...earlier, capture: { ...earlier.capture, camera: true } });
  expect(start().edited).toMatchObject({ needsConsent: true });
});

test('rotating the log and setting it aside keep the hash of the settings', async () => {
  await changeSettings(data, { change: 'allow', power: 'screen' });
  const audit = new AuditLog(data.audit);
  const hash = audit.settingsHash;
  const fill = () => writeFileSync(data.audit, `${'x'.repeat(6 * 1024 * 1024)}\n`, { flag: 'a' });
  for (let round = 0; round < 3; round += 1) {
    fill();
    new AuditLog(data.audit).note('owner.answer', `round ${round}`);
  }
  expect(new AuditLog(data.audit).settingsHash).toBe(hash);
  new AuditLog(data.audit).setAside();
  expect(new AuditLog(data.audit).settingsHash).toBe(hash);
});

test('with a log that is not trusted, everything is denied until the owner accepts', async () => {
  await changeSettings(data, { change: 'allow', power: 'screen' });
  const store = start();
  store.distrust();
  expect(store.read().capture.screen).toBe(false);
  expect(store.edited).toMatchObject({ needsConsent: true, detail: expect.stringContaining('log') as string });
  expect(store.accept()?.capture.screen).toBe(true);
  expect(store.edited).toBeNull();
});

test('turning back the clock does not restore an expired permission', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'], now: new Date('2026-05-01T12:00:00Z') });
  data.openSettingsStore({ onEdit });
  await changeSettings(data, { change: 'allow', power: 'screen', minutes: 30 });
  vi.advanceTimersByTime(31 * 60_000);
  expect(data.settingsInForce().capture.screen).toBe(false);
  vi.setSystemTime(new Date('2026-05-01T12:05:00Z'));
  expect(data.settingsInForce().capture.screen).toBe(false);
  const again = new DataFolder(folder);
  again.openSettingsStore({ notBefore: Date.parse('2026-05-01T12:31:00Z'), onEdit });
  expect(again.settingsInForce().capture.screen).toBe(false);
});
