import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { mountSmallDisk } from '../../test/fixtures/small-disk.ts';
import { shortenMessage, scriptOf, summarise } from './audit-line.ts';
import { AuditLog } from './audit.ts';
import type { AuditLine } from './audit.ts';
import { linesFromEnd, linesFromStart } from './file-lines.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'outrigger-audit-'));
  path = join(folder, 'audit.jsonl');
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
  vi.useRealTimers();
});

const entry = (number: number, more: Partial<AuditLine> = {}): AuditLine => ({
  time: new Date(Date.UTC(2026, 0, 1, 0, 0, number)).toISOString(),
  commandId: `c${number}`,
  type: 'node.files_read',
  summary: `file ${number}`,
  approvedBy: null,
  outcome: 'succeeded',
  message: null,
  durationMs: 1,
  ...more,
});
function write(count: number, log = new AuditLog(path)): AuditLog {
  for (let number = 1; number <= count; number += 1) log.append(entry(number));
  return log;
}
const lines = () => readFileSync(path, 'utf8').trimEnd().split('\n');
const put = (kept: readonly string[]) => writeFileSync(path, kept.map((line) => `${line}\n`).join(''));

test('verifying an unmodified log succeeds, also in another process and after a restart', () => {
  const { head } = write(5);
  expect(head.count).toBe(5);
  const other = write(3, new AuditLog(path));
  expect(other.head.count).toBe(8);
  expect(new AuditLog(path).verify()).toMatchObject({ ok: true, entries: 8, head: other.head });
});

test('verifying names an entry that was changed', () => {
  write(6);
  put(lines().map((line, index) => (index === 2 ? line.replace('file 3', 'file X') : line)));
  expect(new AuditLog(path).verify()).toMatchObject({
    ok: false,
    problem: expect.stringMatching(/^Entry 3 .* was changed/) as string,
  });
});

test('verifying names an entry that was removed, duplicated or added without a number', () => {
  write(6);
  const all = lines();
  put(all.toSpliced(3, 1));
  expect(new AuditLog(path).verify().problem).toMatch(/^Entry 5 .* does not follow entry 3/);
  put(all.toSpliced(3, 0, all[2] as string));
  expect(new AuditLog(path).verify().problem).toMatch(/^Entry 3 .* does not follow entry 3/);
  put([...all, JSON.stringify(entry(7))]);
  expect(new AuditLog(path).verify().problem).toMatch(/^An entry without a number/);
});

test('verifying reports that the start of the log was cut off', () => {
  write(6);
  put(lines().slice(2));
  expect(new AuditLog(path).verify().problem).toMatch(/^The log begins with entry 3 /);
});

describe('a log whose end was cut off', () => {
  test('is reported by the companion that wrote it, from its next entry on', () => {
    const log = write(9);
    put(lines().slice(0, 2));
    log.append(entry(10));
    expect(log.problem).toBe('Entries 3 to 9 are missing at the end of the log.');
    expect(new AuditLog(path).verify().problem).toMatch(/^Entry 10 .* does not follow entry 2 /);
  });

  test("is reported after a restart by comparison with the hub's record", () => {
    const { head } = write(9);
    put(lines().slice(0, 2));
    const log = new AuditLog(path);
    expect(log.verify().ok).toBe(true);
    log.anchor(head);
    expect(log.problem).toBe('Entries 3 to 9 are missing at the end of the log.');
  });

  test('is reported also when other entries replaced the end', () => {
    const { head } = write(4);
    put(lines().slice(0, 2));
    write(5, new AuditLog(path));
    const log = new AuditLog(path);
    log.anchor(head);
    expect(log.problem).toMatch(/^Entry 4 .* is not the entry that was recorded under this number/);
  });
});

test('verifying ignores a line that a crash cut off', () => {
  write(3);
  appendFileSync(path, '{"seq":4,"prev":"00');
  const log = new AuditLog(path);
  expect(log.verify()).toMatchObject({ ok: true, entries: 3 });
  log.append(entry(4));
  expect(log.verify()).toMatchObject({ ok: true, entries: 4 });
});

test('the chain continues in a new file, and verifying reports a missing file', () => {
  const log = write(2);
  for (let number = 3; number < 22; number += 1) log.append(entry(number, { summary: 'x'.repeat(900_000) }));
  expect(log.verify()).toMatchObject({ ok: true });
  const { entries, head } = log.verify();
  // Two files of about 5 MiB: the oldest entries were removed, and the log records that.
  expect(entries).toBeLessThan(head?.count ?? 0);
  expect(new AuditLog(path).verify()).toMatchObject({ ok: true, head });
  rmSync(`${path}.1`);
  expect(new AuditLog(path).verify().ok).toBe(false);
});

test('entries of a version without a chain stay readable when a chain follows them', () => {
  writeFileSync(path, `${JSON.stringify(entry(1))}\n`);
  const log = write(1);
  expect(log.verify()).toMatchObject({ ok: true, entries: 1 });
  expect(log.read(10)).toHaveLength(2);
});

test('setting the log aside starts a new log that continues the numbers of the entries', () => {
  const log = write(4);
  put(lines().slice(0, 1));
  log.checkForChanges();
  expect(log.problem).not.toBeNull();
  log.setAside();
  expect(log.problem).toBeNull();
  expect(log.verify()).toMatchObject({ ok: true, entries: 1, head: { count: 5 } });
});

describe('a log that the owner set aside before the next heartbeat', () => {
  /** A companion that starts and receives the record of the hub. */
  const startWith = (recordedHead: AuditLog['head']) => {
    const log = new AuditLog(path);
    log.anchor(recordedHead);
    return log;
  };

  test('is accepted after a restart with any earlier record of the hub, also when the log was set aside twice', () => {
    const log = write(2);
    const recordedHeads = [log.head];
    rotate(log, 1);
    for (const name of ['pause', 'resume']) {
      log.note('owner.change', name);
      recordedHeads.push(log.head);
      vi.setSystemTime(Date.now() + 1_000);
      log.setAside();
      recordedHeads.push(log.head);
    }
    expect(recordedHeads.map((recordedHead) => startWith(recordedHead).problem)).toEqual(recordedHeads.map(() => null));
    expect(startWith({ count: 3, hash: 'f'.repeat(64) }).problem).toBe('Entry 3 is missing.');
  });

  test.each([
    ['removed the log', () => undefined],
    ['replaced the log by a folder', () => mkdirSync(path)],
  ])('is accepted after a restart also when another program had %s', (_how, replace) => {
    const log = write(4);
    log.note('owner.change', 'pause', { settings: 'a'.repeat(64), pairing: null });
    const recordedHead = log.head;
    rmSync(path);
    replace();
    log.setAside();
    expect(startWith(recordedHead).problem).toBeNull();
    expect(startWith({ ...recordedHead, count: 3 }).problem).toBe('Entry 3 is missing.');
  });

  test('is accepted after a restart also when it was set aside while no companion ran', () => {
    const recordedHead = write(4).head;
    new AuditLog(path).setAside();
    expect(startWith(recordedHead).problem).toBeNull();
  });

  test('is reported after a restart if its end was cut while no companion ran', () => {
    const recordedHead = write(9).head;
    put(lines().slice(0, 2));
    new AuditLog(path).setAside();
    expect(startWith(recordedHead).problem).toBe('Entries 4 to 9 are missing at the end of the log.');
  });

  test('is reported by the running companion if another program set it aside', () => {
    const log = write(4);
    new AuditLog(path).setAside();
    log.checkForChanges();
    expect(log.problem).toBe('Entry 4 is missing.');
  });

  test('does not repeat settings and pairing of a log that was changed while no companion ran', () => {
    const log = write(2);
    const [settings, pairing] = ['a'.repeat(64), { hub: 'http://hub', nodeId: 'node' }];
    log.note('owner.change', 'pause', { settings, pairing });
    const setAside = () => {
      new AuditLog(path).setAside();
      const { settingsHash, hasPairing } = new AuditLog(path);
      return { settingsHash, hasPairing };
    };
    vi.setSystemTime(Date.now() + 1_000);
    expect(setAside()).toEqual({ settingsHash: settings, hasPairing: true });
    put([...lines(), ...lines().slice(0, 1)]);
    expect(setAside()).toEqual({ settingsHash: undefined, hasPairing: false });
  });
});

test('reading returns the start of a command until its end is recorded', () => {
  const log = new AuditLog(path);
  log.append(entry(1, { phase: 'begun', outcome: 'begun' }));
  expect(log.read(10).map(({ outcome }) => outcome)).toEqual(['begun']);
  log.append(entry(1, { phase: 'ended' }));
  expect(log.read(10).map(({ outcome }) => outcome)).toEqual(['succeeded']);
});

/** Fills the log until it was rotated `times` times. */
function rotate(log: AuditLog, times: number): void {
  for (let number = 0; number < times * 6 + 1; number += 1)
    log.append(entry(number % 60, { commandId: `filler ${number}`, summary: 'x'.repeat(1_000_000) }));
}

test('a log that rotated several times in one process verifies, also after the comparison with the hub', () => {
  write(3);
  const log = new AuditLog(path);
  log.anchor(write(1).head);
  rotate(log, 3);
  expect(log.verify()).toMatchObject({ ok: true, problem: null });
  log.checkForChanges();
  expect(log.problem).toBeNull();
  put(lines().slice(0, -1));
  expect(log.verify().problem).toMatch(/ missing at the end of the log\.$/);
});

test('rotations keep the actions of the owner and the programs that ran', () => {
  const log = new AuditLog(path);
  const settings = 'a'.repeat(64);
  log.append(entry(1, { type: 'system.run', summary: 'program 1', phase: 'begun' }));
  log.append(entry(1, { type: 'system.run', summary: 'program 1', phase: 'ended' }));
  log.append(entry(2, { type: 'owner.change', summary: 'pause', settings }));
  rotate(log, 2);
  log.append(entry(3, { type: 'system.run', summary: 'program 2' }));
  rotate(log, 3);
  const kept = log.read(1_000).filter(({ summary }) => !summary.startsWith('x'));
  expect(kept.map(({ summary }) => summary)).toEqual(['program 1', 'pause', 'program 2']);
  expect(log.verify().ok).toBe(true);
  expect(new AuditLog(path).settingsHash).toBe(settings);
});

test.each([
  [
    'before the older file is replaced',
    (saved: string) => {
      renameSync(`${path}.1`, path);
      cpSync(saved, `${path}.1`);
    },
  ],
  ['before the new file exists', () => rmSync(path)],
])('a log whose rotation ended by a crash %s is intact, and loses nothing that is kept', (_when, goBack) => {
  const log = new AuditLog(path);
  const settings = 'a'.repeat(64);
  log.append(entry(1, { type: 'system.run', summary: 'program 1' }));
  log.append(entry(2, { type: 'owner.change', summary: 'pause', settings }));
  rotate(log, 2);
  log.append(entry(3, { type: 'owner.change', summary: 'resume' }));
  const saved = join(folder, 'older');
  let size: number;
  do {
    cpSync(`${path}.1`, saved);
    size = statSync(path).size;
    log.append(entry(4, { commandId: `filler ${size}`, summary: 'x'.repeat(1_000_000) }));
  } while (statSync(path).size > size);
  goBack(saved);
  const restarted = new AuditLog(path);
  expect(restarted.verify()).toMatchObject({ ok: true, problem: null });
  restarted.append(entry(5, { type: 'system.run', summary: 'program 2' }));
  rotate(restarted, 2);
  expect(restarted.verify()).toMatchObject({ ok: true, problem: null });
  const kept = restarted.read(1_000).filter(({ summary }) => !summary.startsWith('x'));
  expect(kept.map(({ summary }) => summary)).toEqual(['program 1', 'pause', 'resume', 'program 2']);
  expect(new AuditLog(path).settingsHash).toBe(settings);
});

const forged = (seq: number, more: Partial<AuditLine>) =>
  `${JSON.stringify({ seq, prev: '0'.repeat(64), ...entry(seq), summary: 'forged', ...more })}\n`;

describe.each([
  ['removed', () => rmSync(`${path}.1`)],
  [
    'replaced',
    () => writeFileSync(`${path}.1`, forged(1, { type: 'system.run' }) + forged(2, { type: 'owner.change' })),
  ],
  [
    'extended',
    () => {
      const older = readFileSync(`${path}.1`, 'utf8');
      writeFileSync(`${path}.1`, forged(1, { type: 'owner.change' }) + older);
    },
  ],
])('a log whose older file was %s', (_how, tamper) => {
  test.each([
    ['by the companion that wrote it', (log: AuditLog) => log],
    ['by a process that starts', () => new AuditLog(path)],
  ])('is found %s before a rotation accepts the file, and stays found', (_who, logOf) => {
    const log = new AuditLog(path);
    log.note('owner.change', 'pause');
    rotate(log, 1);
    log.verify();
    tamper();
    const writer = logOf(log);
    rotate(writer, 3);
    expect(writer.problem).not.toBeNull();
    expect(new AuditLog(path).verify()).toMatchObject({ ok: false, problem: writer.problem });
    // The owner can still look at both files.
    const setAside = new AuditLog(path);
    setAside.setAside();
    expect(setAside.verify()).toMatchObject({ ok: true });
    rotate(setAside, 2);
    expect(setAside.read(1_000).map(({ summary }) => summary)).not.toContain('forged');
  });
});

test('a changed older file is found by the running companion at its next entry', () => {
  const log = new AuditLog(path);
  rotate(log, 1);
  rmSync(`${path}.1`);
  log.append(entry(1));
  expect(log.problem).toMatch(/^The log begins with entry \d+ /);
});

test('a rotation keeps the newest entries of each kind, up to a limit', () => {
  const log = new AuditLog(path);
  log.append(entry(1, { type: 'owner.change', summary: 'pause' }));
  for (let number = 2; number < 60; number += 1)
    log.append(entry(number, { type: 'system.run', summary: `${number} ${'y'.repeat(20_000)}` }));
  rotate(log, 2);
  const kept = log.read(1_000).filter(({ summary }) => !summary.startsWith('x'));
  expect(kept.map(({ summary }) => summary.split(' ')[0])).toEqual([
    'pause',
    ...Array.from({ length: kept.length - 1 }, (_value, index) => String(61 - kept.length + index)),
  ]);
  expect(kept.length).toBeGreaterThan(20);
  expect(kept.length).toBeLessThan(30);
});

test.each(['\u0001', 'a', '漢', '😀', '\ud800'])(
  'an entry with a long script of %j records a limited part of its start and its end',
  (text) => {
    const expression = `first ${text.repeat(10_000)} last`;
    const script = scriptOf('browser.evaluate', { expression });
    expect(JSON.stringify(script).length).toBeLessThan(4_500);
    expect(script).toMatchObject({
      characters: expression.length,
      text: expect.stringMatching(/^first [^]* characters …[^]* last$/u) as string,
    });
    expect(Buffer.byteLength(JSON.stringify(summarise('browser.evaluate', { expression })))).toBeLessThan(700);
    expect(Buffer.byteLength(JSON.stringify(shortenMessage(expression)))).toBeLessThan(2_100);
    expect(scriptOf('browser.evaluate', { expression: `${text};1` })?.text).toBe(`${text};1`.toWellFormed());
  },
);

test('a new log begins with the entry that proves the old one, before entries that waited', () => {
  const log = write(3);
  rmSync(path);
  mkdirSync(path);
  expect(() => log.append(entry(4))).toThrow(`The log ${path} can't be read or written (it is not a file).`);
  log.appendLater(entry(4));
  log.appendLater(entry(5));
  expect(log.pending).toBe(2);
  const { head } = log;
  log.setAside();
  expect(lines().map((line) => (JSON.parse(line) as AuditLine).type)).toEqual([
    'log.set_aside',
    'node.files_read',
    'node.files_read',
  ]);
  expect(log.pending).toBe(0);
  const next = new AuditLog(path);
  expect(next.verify().ok).toBe(true);
  next.anchor(head);
  expect(next.problem).toBeNull();
});

test("the hub's record is found in the old log although entries waited when the owner set it aside", () => {
  const log = write(3);
  const { head } = log;
  log.append(entry(4));
  const text = readFileSync(path);
  rmSync(path);
  mkdirSync(path);
  log.appendLater(entry(5));
  rmSync(path, { recursive: true });
  writeFileSync(path, text);
  appendFileSync(path, '{"seq":9,"prev":"00"}\n');
  log.setAside();
  const next = new AuditLog(path);
  next.anchor(head);
  expect(next.verify()).toMatchObject({ ok: true, entries: 2 });
});

test.each([
  ['is a folder', () => mkdirSync(path)],
  ['is neither file nor folder', () => symlinkSync('/dev/zero', path)],
  ['is a link to a missing file', () => symlinkSync(join(folder, 'missing'), path)],
  ['is a link to a missing folder', () => symlinkSync(join(folder, 'missing/file'), path)],
])('a log that %s is reported with its path and the remedy, and can be set aside', (_why, create) => {
  create();
  const log = new AuditLog(path);
  expect(log.verify()).toMatchObject({
    ok: false,
    head: null,
    problem: expect.stringMatching(
      /^The log .*audit\.jsonl can't be read or written \(.+\)\. .* outrigger-companion audit set-aside$/,
    ) as string,
  });
  expect(log.lastAt).toBe(0);
  expect(log.head.count).toBe(0);
  expect(() => log.append(entry(1))).toThrow('audit set-aside');
  expect(() => log.read(10)).toThrow('audit set-aside');
  log.setAside();
  log.append(entry(1));
  expect(new AuditLog(path).verify()).toMatchObject({ ok: true, entries: 2 });
});

test('a running companion reports a link to a missing file in the place of its log, and can set it aside', () => {
  const log = write(2);
  rmSync(path);
  symlinkSync(join(folder, 'missing/file'), path);
  expect(() => log.append(entry(3))).toThrow('audit set-aside');
  log.setAside();
  log.append(entry(3));
  expect(log.verify()).toMatchObject({ ok: true, entries: 2 });
  expect(new AuditLog(path).verify().ok).toBe(true);
});

const disk = mountSmallDisk();
afterAll(() => {
  if (disk === null) return;
  execFileSync('umount', [disk]);
  rmSync(disk, { recursive: true });
});

test.skipIf(disk === null)('a log on a full disk stays unless its new entry may wait (needs mount)', () => {
  path = join(disk as string, 'audit.jsonl');
  const { head } = write(2);
  writeFileSync(path, readFileSync(path, 'utf8').replace('file 1', 'file X'));
  const filler = join(disk as string, 'filler');
  expect(spawnSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=1k']).status).not.toBe(0);
  expect(() => new AuditLog(path).setAside({ waits: false })).toThrow(
    "A new log can't be written (ENOSPC), so the old one was not set aside; free space on its disk",
  );
  expect(readdirSync(disk as string).toSorted()).toEqual(['audit.jsonl', 'filler']);
  expect(new AuditLog(path).head).toEqual(head);
  const log = new AuditLog(path);
  log.setAside();
  expect(log.pending).toBe(1);
  // The attempt has left an empty file, which is no cut log.
  log.appendLater(entry(3));
  rmSync(filler);
  log.flush();
  expect(log.verify()).toMatchObject({ ok: true, entries: 2 });
  expect(new AuditLog(path).verify()).toMatchObject({ ok: true, entries: 2 });
});

test('a line of any length in a log is skipped, in a time that grows with its length only', () => {
  const log = write(3);
  // Longer than the longest string of Node.
  truncateSync(path, 600 * 1024 * 1024);
  expect(log.verify()).toMatchObject({ ok: true, entries: 3 });
  truncateSync(path, 20 * 1024 * 1024);
  const next = new AuditLog(path);
  expect(next.verify()).toMatchObject({ ok: true, entries: 3 });
  expect(next.read(2).map(({ summary }) => summary)).toEqual(['file 2', 'file 3']);
  next.append(entry(4));
  expect(next.verify()).toMatchObject({ ok: true, entries: 5 });
  next.setAside();
  const anchored = new AuditLog(path);
  anchored.anchor(log.head);
  expect(anchored.verify()).toMatchObject({ ok: true });
});

test('lines are read from both ends, also when they cross the pieces in which the file is read', () => {
  const all = [
    '',
    'ä'.repeat(40_000),
    '',
    'x'.repeat(65_536),
    'y'.repeat(65_535),
    'z'.repeat(5 * 1024 * 1024),
    'end',
    '',
  ];
  writeFileSync(path, all.join('\n'));
  const expected = all.map((line) => (line.length > 4 * 1024 * 1024 ? '' : line));
  expect([...linesFromStart(path)]).toEqual(expected);
  expect([...linesFromEnd(path)]).toEqual(expected.toReversed());
});
