import { randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { SentPictures } from './sent-pictures.ts';

const hourMs = 60 * 60 * 1000;
const megabyte = 1024 * 1024;

function start(now?: () => number) {
  const home = mkdtempSync(join(tmpdir(), 'outrigger-pictures-'));
  const folder = join(home, 'pictures');
  const pictures = new SentPictures(folder, now);
  onTestFinished(() => {
    pictures[Symbol.dispose]();
    rmSync(home, { recursive: true, force: true });
  });
  /** An artifact in the journal. */
  const artifact = (contentType: string, text: string, bytes?: number) => {
    const filePath = join(home, randomUUID());
    writeFileSync(filePath, text, { mode: 0o644 });
    if (bytes !== undefined) truncateSync(filePath, bytes);
    return { name: 'x', contentType, filePath };
  };
  return { home, folder, pictures, artifact };
}

test('the picture of a command is kept after its source file is removed, and only the owner can read it', async () => {
  const { folder, pictures, artifact } = start();
  const [sent, without] = [randomUUID(), randomUUID()];
  const first = artifact('image/jpeg', 'first');
  pictures.keep(sent, [artifact('text/plain', 'x'), first, artifact('image/png', 'second')]);
  pictures.keep(without, [artifact('audio/wav', 'wav')]);
  rmSync(first.filePath);
  expect([pictures.has(sent), pictures.has(without)]).toEqual([true, false]);
  expect(await pictures.read(sent)).toEqual({ contentType: 'image/jpeg', bytes: Buffer.from('first') });
  expect(await pictures.read(without)).toBeNull();
  expect(readdirSync(folder)).toEqual([`${sent}.jpg`]);
  if (process.platform !== 'win32') {
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, `${sent}.jpg`)).mode & 0o777).toBe(0o600);
  }
});

test('a command that runs again keeps only its last picture', async () => {
  const { folder, pictures, artifact } = start();
  const id = randomUUID();
  pictures.keep(id, [artifact('image/jpeg', 'before')]);
  pictures.keep(id, [artifact('image/png', 'after')]);
  expect(await pictures.read(id)).toEqual({ contentType: 'image/png', bytes: Buffer.from('after') });
  expect(readdirSync(folder)).toEqual([`${id}.png`]);
});

test('an invalid command ID has no picture and writes no file', async () => {
  const { home, folder, pictures, artifact } = start();
  writeFileSync(join(home, 'secret.png'), 'secret');
  for (const id of ['../secret', '..', '', `${randomUUID()}/../../secret`, 'a\0b']) {
    pictures.keep(id, [artifact('image/png', 'x')]);
    expect(await pictures.read(id)).toBeNull();
    expect(pictures.has(id)).toBe(false);
  }
  expect(existsSync(folder)).toBe(false);
});

test('a picture is kept for a day across processes, then removed together with unfinished copies', async () => {
  let now = Date.now();
  const { folder, pictures, artifact } = start(() => now);
  const id = randomUUID();
  pictures.keep(id, [artifact('image/png', 'x')]);
  now += 23 * hourMs;
  pictures.sweep();
  using next = new SentPictures(folder, () => now);
  expect([pictures.has(id), next.has(id)]).toEqual([true, true]);
  now += 2 * hourMs;
  expect([pictures.has(id), await pictures.read(id)]).toEqual([false, null]);
  writeFileSync(join(folder, `${randomUUID()}.png.partial`), 'half');
  using last = new SentPictures(folder, () => now);
  expect(last.has(id)).toBe(false);
  expect(readdirSync(folder)).toEqual([]);
});

test('when pictures exceed 200 MB in total, the oldest are removed; a picture over 20 MB is never kept', () => {
  const { folder, pictures, artifact } = start();
  const ids = Array.from({ length: 12 }, () => randomUUID());
  for (const id of ids.slice(0, 11)) pictures.keep(id, [artifact('image/png', '', 20 * megabyte)]);
  const has = (all: SentPictures) => ids.map((id) => all.has(id));
  expect(has(pictures)).toEqual([false, ...Array.from({ length: 10 }, () => true), false]);
  pictures.keep(ids[11] as string, [artifact('image/png', '', 20 * megabyte + 1)]);
  expect(pictures.has(ids[11] as string)).toBe(false);
  expect(readdirSync(folder)).toHaveLength(10);
});

test('pictures of an earlier process over the size limit are removed at the start, oldest first', () => {
  const { folder } = start();
  mkdirSync(folder);
  const ids = Array.from({ length: 21 }, () => randomUUID());
  for (const [index, id] of ids.entries()) {
    const path = join(folder, `${id}.webp`);
    writeFileSync(path, '');
    truncateSync(path, 10 * megabyte);
    const keptAt = new Date(Date.now() - hourMs + ((index * 8) % 21) * 1000);
    utimesSync(path, keptAt, keptAt);
  }
  using pictures = new SentPictures(folder);
  expect(ids.filter((id) => !pictures.has(id))).toEqual([ids[0]]);
});

test('a picture that cannot be stored causes no error, and the next one is kept', async () => {
  const { home, folder, pictures, artifact } = start();
  const [lost, blocked, kept] = [randomUUID(), randomUUID(), randomUUID()];
  pictures.keep(lost, [{ name: 'x', contentType: 'image/png', filePath: join(home, 'gone.png') }]);
  writeFileSync(folder, 'a file where the folder should be');
  pictures.keep(blocked, [artifact('image/png', 'x')]);
  using other = new SentPictures(folder);
  other.keep(blocked, [artifact('image/png', 'x')]);
  expect([await pictures.read(lost), await pictures.read(blocked), await other.read(blocked)]).toEqual([
    null,
    null,
    null,
  ]);
  rmSync(folder);
  pictures.keep(kept, [artifact('image/png', 'x')]);
  expect(pictures.has(kept)).toBe(true);
});

test('clearing removes all pictures', () => {
  const { folder, pictures, artifact } = start();
  const id = randomUUID();
  pictures.keep(id, [artifact('image/png', 'x')]);
  pictures.clear();
  expect(pictures.has(id)).toBe(false);
  expect(readdirSync(folder)).toEqual([]);
});
