import { appendFileSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { AuditLog } from './audit.ts';
import { askCompanion } from './control/client.ts';
import { CompanionError, DataFolder } from './data-folder.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'outrigger-input-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('reading a log with a line that was cut off returns all other entries', () => {
  const log = new AuditLog(join(folder, 'audit.jsonl'));
  const line = {
    time: '2026-01-01T00:00:00Z',
    commandId: 'c',
    type: 'node.ping',
    summary: '',
    approvedBy: null,
    outcome: 'succeeded',
    message: null,
    durationMs: 1,
  };
  log.append(line);
  appendFileSync(join(folder, 'audit.jsonl'), '{"time":"2026\nnull\n7\n{}\n');
  log.append({ ...line, type: 'node.facts' });
  expect(log.read(50).map(({ type }) => type)).toEqual(['node.ping', 'node.facts']);
});

test('many pings displace no other entry of the log, and use little space', () => {
  const path = join(folder, 'audit.jsonl');
  const log = new AuditLog(path);
  const line = { commandId: 'c', summary: 'x'.repeat(250), approvedBy: null, message: null, durationMs: 1 };
  const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
  for (let second = 0; second < 5; second += 1)
    log.append({ ...line, time: at(second), type: 'system.run', outcome: 'succeeded' });
  for (let second = 5; second < 3_000; second += 1)
    log.append({ ...line, time: at(second), type: 'node.ping', outcome: 'succeeded' });
  log.append({ ...line, time: at(3_000), type: 'node.ping', outcome: 'paused' });
  const types = log.read(10).map(({ type, outcome }) => `${type} ${outcome}`);
  expect(types.filter((type) => type === 'system.run succeeded')).toHaveLength(5);
  expect([types.length, types.at(-1)]).toEqual([10, 'node.ping paused']);
  const bytes = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  expect(bytes).toBeLessThan(700_000);
});

test.each([
  ['nothing', ''],
  ['no JSON', 'hello'],
  ['null', 'null'],
  ['another shape', '{"pid":"1","running":7}'],
  ['more than a status', `"${'x'.repeat(5_000_000)}"`],
])('a control socket that answers %s is reported as no companion', async (_what, answer) => {
  const data = new DataFolder(join(folder, 'data'));
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.end(answer);
  });
  await new Promise<void>((done) => server.listen(join(data.path, 'control.sock'), done));
  await expect(askCompanion(data, 'state', {})).rejects.toThrow(CompanionError);
  await new Promise<void>((done) => server.close(() => done()));
});
