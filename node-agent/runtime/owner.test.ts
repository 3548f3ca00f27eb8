import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CompanionError, DataFolder } from './data-folder.ts';
import { askStatus, ownDataFolder } from './owner.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'outrigger-owner-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const status = () => ({
  pid: process.pid,
  connected: true,
  byChannel: false,
  hub: 'http://hub',
  nodeId: 'n',
  running: [],
  lastError: null,
});

test('a data folder has one owner, also while that is too busy to say what it is at', async () => {
  const data = new DataFolder(folder);
  const busy = createServer((socket) => void socket.on('error', () => undefined).end());
  await new Promise<void>((done) => busy.listen(join(folder, 'control.sock'), done));
  await expect(ownDataFolder(data, status)).rejects.toThrow(CompanionError);
  await new Promise<void>((done) => busy.close(() => done()));
  await using _owner = await ownDataFolder(data, status);
  expect(await askStatus(data)).toEqual(status());
  await expect(ownDataFolder(data, status)).rejects.toThrow(`process ${process.pid}`);
});
