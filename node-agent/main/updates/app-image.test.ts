import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { inheritedEnv } from '../../../test/fixtures/processes.ts';
import { describeRelease } from '../../../test/fixtures/update-server.ts';
import { AppImage } from './app-image.ts';

const run = promisify(execFile);
const [older, newer] = [randomBytes(300_000), randomBytes(2_500_000)];
const feed = describeRelease(newer);

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'outrigger-app-image-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

/** An installed AppImage with its state, and the file of the new version. */
function install(name = 'one') {
  const [apps, state, file] = [join(home, name, 'apps'), join(home, name, 'state'), join(home, name, 'got.part')];
  for (const folder of [apps, state]) mkdirSync(folder, { recursive: true });
  const path = join(apps, 'My companion.AppImage');
  writeFileSync(path, older);
  chmodSync(path, 0o751);
  writeFileSync(file, newer, { mode: 0o600 });
  return {
    path,
    state,
    file,
    besides: () => readdirSync(apps).toSorted(),
    image: () => new AppImage(path, state),
    replaceAndDie: (before?: number) =>
      run(process.execPath, [resolve('test/fixtures/die-in-update.ts'), path, state, file, JSON.stringify(feed)], {
        env: { ...inheritedEnv(), ...(before === undefined ? {} : { DIE_BEFORE: String(before) }) },
      }),
  };
}

describe('the replacement of an AppImage', () => {
  test('has the new content and the old mode, and keeps the previous version until the new one has started', async () => {
    const { path, state, file, image, besides } = install();
    await image().replace(file, feed, '1.0.0');
    expect(readFileSync(path).equals(newer)).toBe(true);
    expect(statSync(path).mode & 0o7777).toBe(0o751);
    expect(readFileSync(`${path}.previous`).equals(older)).toBe(true);
    expect(image().checkPending('2.0.0')).toBe('start');
    expect(besides()).toEqual(['My companion.AppImage', 'My companion.AppImage.previous']);
    image().confirm('2.0.0');
    expect(besides()).toEqual(['My companion.AppImage']);
    expect(readdirSync(state)).toEqual([]);
  });

  test('leaves a complete old or new file when the process is killed at any time, and the next start cleans up', async () => {
    const { stdout } = await install('whole').replaceAndDie();
    const moments = Number(stdout);
    expect(moments).toBeGreaterThan(8);
    const ends = await Promise.all(
      Array.from({ length: moments }, async (_, moment) => {
        const { path, state, image, besides, replaceAndDie } = install(String(moment));
        await expect(replaceAndDie(moment)).rejects.toMatchObject({ signal: 'SIGKILL' });
        const content = readFileSync(path);
        const isNew = content.equals(newer);
        expect(isNew || content.equals(older), `before call ${moment}`).toBe(true);
        expect(statSync(path).mode & 0o7777, `before call ${moment}`).toBe(0o751);
        const running = isNew ? '2.0.0' : '1.0.0';
        expect(image().checkPending(running)).toBe('start');
        image().confirm(running);
        expect(besides(), `before call ${moment}`).toEqual(['My companion.AppImage']);
        expect(existsSync(join(state, 'update-pending.json'))).toBe(false);
        return isNew ? 'new' : 'old';
      }),
    );
    expect(new Set(ends)).toEqual(new Set(['old', 'new']));
  });

  test('is rolled back after three failed starts of the new version, which is not installed again', async () => {
    const { path, file, image, besides } = install();
    await image().replace(file, feed, '1.0.0');
    expect([1, 2, 3, 4].map(() => image().checkPending('2.0.0'))).toEqual(['start', 'start', 'start', 'restart']);
    expect(readFileSync(path).equals(older)).toBe(true);
    expect(image().checkPending('1.0.0')).toBe('start');
    expect(image().isBroken('2.0.0')).toBe(true);
    expect(image().isBroken('2.0.1')).toBe(false);
    expect(besides()).toEqual(['My companion.AppImage']);
  });

  test('changes nothing when the downloaded file was modified after its check', async () => {
    const { path, state, file, image, besides } = install();
    writeFileSync(file, randomBytes(newer.length));
    await expect(image().replace(file, feed, '1.0.0')).rejects.toMatchObject({ state: 'refused' });
    expect(readFileSync(path).equals(older)).toBe(true);
    expect(besides()).toEqual(['My companion.AppImage']);
    expect(readdirSync(state)).toEqual([]);
  });
});
