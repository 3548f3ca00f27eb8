import { randomUUID } from 'node:crypto';
import fs, { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { Companion } from './companion.ts';
import { CompanionError, DataFolder } from './data-folder.ts';
import { Journal } from './journal.ts';

const line = { time: '2026-01-01T00:00:00.000Z', summary: 'sleep 40', approvedBy: 'mate', origin: null };
const entry = { type: 'system.run', acts: true, line };
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'outrigger-journal-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function openJournal(): Journal {
  const journal = new Journal(folder);
  journal.open();
  onTestFinished(() => journal.close());
  return journal;
}

test('a command that acts starts only once, also in another process', () => {
  const id = randomUUID();
  expect(openJournal().begin(id, entry)).toBe(true);
  expect(openJournal().begin(id, entry)).toBe(false);
});

test('recovering an unfinished command returns the facts of its start', () => {
  const [started, waiting, earlier] = [randomUUID(), randomUUID(), randomUUID()];
  const journal = openJournal();
  journal.receive(started, entry);
  journal.begin(started, entry);
  journal.receive(waiting, entry);
  mkdirSync(join(folder, earlier));
  // Written by an earlier version, which kept no facts.
  writeFileSync(join(folder, earlier, 'started.json'), JSON.stringify({ type: 'system.run', acts: true }));
  const facts = { summary: 'sleep 40', approvedBy: 'mate', origin: null };
  const { unfinished } = openJournal().recover();
  expect(unfinished.toSorted((one, other) => (one.commandId < other.commandId ? -1 : 1))).toEqual(
    [
      { commandId: started, type: 'system.run', began: true, since: line.time, facts },
      { commandId: waiting, type: 'system.run', began: false, since: line.time, facts },
      { commandId: earlier, type: 'system.run', began: true, since: null, facts: { summary: '', approvedBy: null } },
    ].toSorted((one, other) => (one.commandId < other.commandId ? -1 : 1)),
  );
});

test('the replacement of a withheld result is stored before the artifacts are removed', () => {
  const [journal, commandId] = [openJournal(), randomUUID()];
  const result = { status: 'succeeded', output: {} } as const;
  const source = { type: 'system.run', acts: true, line: { summary: '', approvedBy: null } };
  // A folder cannot be removed as a file, so the removal stops here, as after a crash.
  const artifacts = [{ name: 'a', contentType: 'image/png', filePath: join(folder, commandId) }];
  const finished = { commandId, result, artifacts, source };
  journal.finish(finished, source);
  const replacement = {
    ...finished,
    result: { status: 'failed', error: { code: 'interrupted', message: 'withheld' } } as const,
    artifacts: [],
  };
  expect(journal.withhold(finished, replacement)).toBe(true);
  expect(openJournal().recover().finished).toMatchObject([replacement]);
});

test('a companion that cannot read the IDs of started commands does not run', async () => {
  const data = new DataFolder(folder);
  mkdirSync(join(data.journal, 'seen.log'), { recursive: true });
  const identity = {
    nodeId: randomUUID(),
    deviceSecret: 'x',
    hub: 'http://127.0.0.1:1',
    pairedAt: '2026-01-01T00:00:00Z',
  };
  const run = async () => {
    await new Companion({
      folder: data,
      identity,
      signal: AbortSignal.timeout(60_000),
      onEvent: () => undefined,
    }).run();
  };
  const error: unknown = await run().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(CompanionError);
  expect((error as Error).message).toContain('it is not a file');
});

test('an ID that was cut off when its process ended hides no other ID', () => {
  const [torn, next, last] = [randomUUID(), randomUUID(), randomUUID()];
  for (let length = 0; length < torn.length; length += 1) {
    writeFileSync(join(folder, 'seen.log'), `${torn.slice(0, length)}${next}\n${last.slice(0, 20)}`);
    const journal = openJournal();
    expect(journal.begin(next, entry), `after ${length} characters`).toBe(false);
    expect(journal.begin(last, entry)).toBe(true);
    expect(openJournal().begin(last, entry)).toBe(false);
  }
});

test('a write that stored a part and then failed hides no later command', () => {
  const [torn, next] = [randomUUID(), randomUUID()];
  const journal = openJournal();
  const real = fs.writeSync;
  let writes = 0;
  fs.writeSync = ((file: number, content: string | Buffer, ...rest: []) => {
    if (String(content) !== `${torn}\n`) return real(file, content as string, ...rest);
    writes += 1;
    if (writes > 1) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    return real(file, torn.slice(0, 10));
  }) as typeof fs.writeSync;
  syncBuiltinESMExports();
  try {
    expect(() => journal.begin(torn, entry)).toThrow('no space left');
    expect(journal.begin(next, entry)).toBe(true);
  } finally {
    fs.writeSync = real;
    syncBuiltinESMExports();
  }
  expect(readFileSync(join(folder, 'seen.log'), 'utf8').split('\n')).toContain(next);
  expect(openJournal().begin(next, entry)).toBe(false);
});

test('a second companion on a data folder leaves the journal of the running one unchanged', async () => {
  const data = new DataFolder(folder);
  mkdirSync(data.journal, { recursive: true });
  const seen = join(data.journal, 'seen.log');
  appendFileSync(seen, `${randomUUID()}\n`);
  const { ino } = fs.statSync(seen);
  const identity = {
    nodeId: randomUUID(),
    deviceSecret: 'x',
    hub: 'http://127.0.0.1:1',
    pairedAt: '2026-01-01T00:00:00Z',
  };
  // Created before it is known whether the folder is free.
  void new Companion({ folder: data, identity, signal: AbortSignal.abort(), onEvent: () => undefined });
  expect(fs.statSync(seen).ino).toBe(ino);
});
