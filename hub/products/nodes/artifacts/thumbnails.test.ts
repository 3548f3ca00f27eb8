import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { encode } from 'fast-png';
import sharp from 'sharp';
import { expect, onTestFinished, test } from 'vitest';
import type { ArtifactContent } from './artifacts.ts';
import { Thumbnails } from './thumbnails.ts';
import type { ThumbnailsOptions } from './thumbnails.ts';

const never = new AbortController().signal;
const tenant = 'a workspace';

function thumbnails(options: ThumbnailsOptions = {}) {
  const warnings: unknown[] = [];
  const logger = { warn: (...entry: unknown[]) => void warnings.push(entry) };
  // Starting the process can take many seconds on a busy machine.
  const made = new Thumbnails(logger, { waitMs: 60_000, pictureMs: 60_000, ...options });
  onTestFinished(() => made[Symbol.asyncDispose]());
  return { made, warnings };
}

function artifactOf(content: Buffer, contentType = 'image/png') {
  const opened = { count: 0 };
  const artifact: ArtifactContent = {
    name: 'screen.png',
    contentType,
    bytes: content.length,
    sha256: createHash('sha256').update(content).digest('hex'),
    open() {
      opened.count += 1;
      return Promise.resolve(Readable.from([content]));
    },
  };
  return { artifact, opened };
}

const pngOf = (width: number, height: number, value = 7) =>
  Buffer.from(encode({ width, height, channels: 3, data: new Uint8Array(width * height * 3).fill(value) }));
const sizeOf = async (artifact: ArtifactContent) => {
  const { width, height, format } = await sharp(await buffer(await artifact.open())).metadata();
  return [width, height, format];
};
/** A program in place of the one that makes the copies. */
function programOf(code: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'outrigger-thumbnails-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'program.mjs');
  writeFileSync(file, code);
  return file;
}

test('a picture becomes a WebP copy of at most the width, is made once, and its ranges fit', async () => {
  const { made } = thumbnails();
  const { artifact, opened } = artifactOf(pngOf(1280, 800));
  const copies = await Promise.all([1, 2, 3].map(() => made.reduce(tenant, artifact, 320, never)));
  expect(opened.count).toBe(1);
  const [copy] = copies as [ArtifactContent];
  expect(await sizeOf(copy)).toEqual([320, 200, 'webp']);
  expect(copy).toMatchObject({ name: 'screen-320.webp', contentType: 'image/webp' });
  expect(copy.sha256).not.toBe(artifact.sha256);
  const whole = await buffer(await copy.open());
  expect(whole.length).toBe(copy.bytes);
  expect(await buffer(await copy.open({ start: 3, end: 9 }))).toEqual(whole.subarray(3, 10));
  expect(await sizeOf(await made.reduce(tenant, artifact, 640, never))).toEqual([640, 400, 'webp']);
  expect(await sizeOf(await made.reduce(tenant, artifactOf(pngOf(100, 50)).artifact, 320, never))).toEqual([
    100,
    50,
    'webp',
  ]);
  expect(await sizeOf(await made.reduce(tenant, artifactOf(pngOf(320, 2560)).artifact, 320, never))).toEqual([
    160,
    1280,
    'webp',
  ]);
});

test('what is no picture, is damaged, or has too many pixels is returned as it is', async () => {
  const { made, warnings } = thumbnails();
  const whole = pngOf(1280, 800);
  const large = Buffer.from(pngOf(8, 8));
  // The header claims 40,000 by 40,000 pixels.
  large.writeUInt32BE(40_000, 16);
  large.writeUInt32BE(40_000, 20);
  for (const [content, contentType] of [
    [whole, 'text/plain'],
    [Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'), 'image/svg+xml'],
    [Buffer.from('no picture'), 'image/png'],
    [whole.subarray(0, 40), 'image/png'],
    [large, 'image/png'],
  ] as const) {
    const { artifact } = artifactOf(content, contentType);
    expect(await made.reduce(tenant, artifact, 320, never)).toBe(artifact);
  }
  expect(await sizeOf(await made.reduce(tenant, artifactOf(whole).artifact, 320, never))).toEqual([320, 200, 'webp']);
  expect(warnings).toEqual([]);
});

test.each([
  ['ends', 'process.exit(1)'],
  ['never answers', ''],
])('a picture on which the process %s is returned as it is, and the next one has a new process', async (_how, act) => {
  const program = programOf(
    `process.on('message', ({ picture }) => { if (picture[0] === 1) process.send({ copy: picture }); else { ${act} } }); process.send('ready')`,
  );
  const { made } = thumbnails({ pictureMs: 1_000, program });
  const { artifact: bad, opened } = artifactOf(Buffer.from([0]));
  expect(await made.reduce(tenant, bad, 320, never)).toBe(bad);
  expect(await made.reduce(tenant, bad, 320, never)).toBe(bad);
  expect(opened.count).toBe(1);
  const good = await made.reduce(tenant, artifactOf(Buffer.from([1])).artifact, 320, never);
  expect(good.contentType).toBe('image/webp');
  expect(await buffer(await good.open())).toEqual(Buffer.from([1]));
});

test('where the process cannot start, pictures are returned as they are, with one warning', async () => {
  const { made, warnings } = thumbnails({ program: programOf('process.exit(1)') });
  for (let count = 0; count < 3; count += 1) {
    const { artifact } = artifactOf(pngOf(9, 9, count));
    expect(await made.reduce(tenant, artifact, 320, never)).toBe(artifact);
  }
  expect(warnings).toHaveLength(1);
});

test('the process gets no environment variables', async () => {
  const { made } = thumbnails({
    program: programOf(
      `process.on('message', () => process.send({ copy: Buffer.from(JSON.stringify(process.env)) })); process.send('ready')`,
    ),
  });
  const copy = await made.reduce(tenant, artifactOf(pngOf(9, 9)).artifact, 320, never);
  expect(JSON.parse((await buffer(await copy.open())).toString())).not.toHaveProperty('PATH');
});

/** A picture whose copy the program never makes. */
const stuck = `process.on('message', ({ picture }) => { if (picture[0] === 1) process.send({ copy: picture }); }); process.send('ready')`;

test('one workspace cannot fill the queue with slow pictures, and no request waits longer than the limit', async () => {
  const { made } = thumbnails({ pictureMs: 2_000, waitMs: 200, program: programOf(stuck) });
  const slow = Array.from({ length: 20 }, (_value, index) => artifactOf(Buffer.from([0, index])));
  const answers = await Promise.all(slow.map(({ artifact }) => made.reduce(tenant, artifact, 320, never)));
  expect(answers).toEqual(slow.map(({ artifact }) => artifact));
  const { artifact } = artifactOf(Buffer.from([1]));
  expect(await made.reduce('another workspace', artifact, 320, never)).toBe(artifact);
  // Eight slow pictures were accepted. The copy of the other workspace is made after them.
  let tries = 0;
  const copyOfNext = () => {
    tries += 1;
    return made.reduce('another workspace', artifactOf(Buffer.from([1, tries])).artifact, 320, never);
  };
  await expect.poll(async () => (await copyOfNext()).contentType).toBe('image/webp');
  expect(slow.map(({ opened }) => opened.count).filter((count) => count > 0)).toHaveLength(8);
});

test('after its idle process was killed, the next picture has a new process', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'outrigger-thumbnails-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const pidFile = join(folder, 'pid');
  const program = programOf(
    `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(pidFile)}, String(process.pid)); ${stuck}`,
  );
  const { made } = thumbnails({ program });
  const reduce = async (content: number[]) =>
    (await made.reduce(tenant, artifactOf(Buffer.from(content)).artifact, 320, never)).contentType;
  expect(await reduce([1, 1])).toBe('image/webp');
  const pid = Number(readFileSync(pidFile, 'utf8'));
  process.kill(pid, 'SIGKILL');
  await expect.poll(() => isAlive(pid)).toBe(false);
  expect(await reduce([1, 2])).toBe('image/webp');
  expect(Number(readFileSync(pidFile, 'utf8'))).not.toBe(pid);
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('only decoders of the accepted types see a picture, whatever type the machine reported', async () => {
  const { made } = thumbnails();
  const svg = Buffer.from(
    '<svg xmlns="http://www.w3.org/2000/svg" width="900" height="900"><rect width="9" height="9"/></svg>',
  );
  const tiff = await sharp(pngOf(900, 900)).tiff().toBuffer();
  for (const content of [svg, tiff]) {
    const { artifact } = artifactOf(content);
    expect(await made.reduce(tenant, artifact, 320, never)).toBe(artifact);
  }
  const source = sharp(pngOf(900, 900));
  for (const content of [await source.jpeg().toBuffer(), await source.webp().toBuffer(), await source.gif().toBuffer()])
    expect((await sizeOf(await made.reduce(tenant, artifactOf(content).artifact, 320, never)))[0]).toBe(320);
});
