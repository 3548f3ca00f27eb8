import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { WorkingMarks } from './working-marks.ts';
import type { Visit } from './working-marks.ts';

const logger = pino({ level: 'silent' });
const visit: Visit = { runId: '0199d4b2-6f3a-7c11-8a52-3f1f6c0f9a10', fence: '9223372036854775807', step: 999_999_999 };
let folder: string;
let counted: Visit[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outrigger-marks-'));
  counted = [];
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const open = (count: (found: Visit) => Promise<void> = async (found) => void counted.push(found)) =>
  WorkingMarks.open(folder, { count, logger });
const files = () => readdir(folder);

/** Starts a process that ends or stalls while its mark names a step. */
async function markInOtherProcess(then: 'ends' | 'stalls') {
  const code = `
    import { pino } from 'pino';
    import { WorkingMarks } from ${JSON.stringify(resolve('hub/engine/queue/working-marks.ts'))};
    const marks = await WorkingMarks.open(${JSON.stringify(folder)}, { count: async () => {}, logger: pino({ level: 'silent' }) });
    marks.during(${JSON.stringify(visit)}, () => {
      process._rawDebug('marked');
      ${then === 'ends' ? "process.kill(process.pid, 'SIGKILL')" : 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)'};
    });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'ignore', 'pipe'] });
  const exited = once(child, 'exit');
  await once(child.stderr, 'data');
  return { child, exited };
}

test('the next process counts the mark of an ended process once', async () => {
  await (
    await markInOtherProcess('ends')
  ).exited;
  {
    await using _marks = await open();
    expect(counted).toEqual([visit]);
    expect((await files()).length).toBe(1);
  }
  await using _next = await open();
  expect(counted).toEqual([visit]);
});

test('the mark of a live process is not counted until that process has ended', async () => {
  const { child, exited } = await markInOtherProcess('stalls');
  {
    await using _marks = await open();
    expect(counted).toEqual([]);
    expect((await files()).length).toBe(2);
  }
  child.kill('SIGKILL');
  await exited;
  await using _next = await open();
  expect(counted).toEqual([visit]);
});

test('a mark that could not be counted is counted by the next scan', async () => {
  await (
    await markInOtherProcess('ends')
  ).exited;
  await expect(open(() => Promise.reject(new Error('no database')))).rejects.toThrow('no database');
  await using _marks = await open();
  expect(counted).toEqual([visit]);
});

test('the mark is cleared when the work has ended or failed, and removed when the process ends', async () => {
  {
    await using marks = await open();
    const [name = ''] = await files();
    const written: string[] = [];
    const path = join(folder, name);
    const read = () => written.push(readFileSync(path, 'latin1').trim());
    const nextTick = () => new Promise((done) => setImmediate(done));
    read();
    expect(
      marks.during(visit, () => {
        read();
        marks.during({ ...visit, step: 1 }, read);
        return 'answer';
      }),
    ).toBe('answer');
    await nextTick();
    read();
    marks.during({ runId: visit.runId, fence: '1', step: 0 }, read);
    expect(() =>
      marks.during(visit, () => {
        throw new Error('of the work');
      }),
    ).toThrow('of the work');
    await nextTick();
    read();
    const text = `${visit.runId} ${visit.fence} ${visit.step}`;
    expect(written).toEqual(['', text, text, '', `${visit.runId} 1 0`, '']);
  }
  expect(await files()).toEqual([]);
});

test('marks of other machines, incomplete marks and other files are not counted', async () => {
  await (
    await markInOtherProcess('ends')
  ).exited;
  const [name = ''] = await files();
  const text = await readFile(join(folder, name), 'latin1');
  await rename(
    join(folder, name),
    join(folder, name.replace(Buffer.from(hostname()).toString('hex').slice(0, 120), 'abcd')),
  );
  await writeFile(join(folder, name.replace(/-[^-]+\.mark$/, '-1.mark')), text.slice(0, 50));
  await writeFile(join(folder, 'notes.txt'), text);
  {
    await using _marks = await open();
    expect(counted).toEqual([]);
    const [old = ''] = (await files()).filter((file) => file.startsWith('abcd-'));
    expect((await files()).length).toBe(3);
    await utimes(join(folder, old), 0, 0);
  }
  await using _next = await open();
  expect(counted).toEqual([]);
  expect((await files()).filter((file) => file.startsWith('abcd-'))).toEqual([]);
});
