import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { inheritedEnv } from '../../test/fixtures/processes.ts';
import { parseKeys, readFeed } from '../main/updates/feed.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'outrigger-sign-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const signFeed = (args: string[], env: Record<string, string> = {}) =>
  promisify(execFile)(process.execPath, [resolve('node-agent/package/sign-feed.ts'), ...args], {
    cwd: home,
    env: { ...inheritedEnv(), ...env },
  });

test('a feed with two signatures is valid with either key, and private keys are neither readable by others nor printed', async () => {
  writeFileSync(join(home, 'companion.AppImage'), 'x'.repeat(1000));
  const keys = [];
  for (const name of ['one.pem', 'two.pem']) {
    const { stdout } = await signFeed(['key', '--to', name]);
    expect(statSync(join(home, name)).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(home, name), 'utf8')).not.toContain(stdout.trim());
    keys.push(stdout.trim());
  }
  const { stdout, stderr } = await signFeed(
    ['feed', '--key', 'one.pem', '--file', 'companion.AppImage', '--app-version', '1.2.3', '--arch', 'x64'],
    { OUTRIGGER_UPDATE_PRIVATE_KEY: readFileSync(join(home, 'two.pem'), 'utf8') },
  );
  expect(`${stdout}${stderr}`).toBe('linux-x64.json\nlinux-x64.json.sig\n');
  const [bytes, signatures] = ['linux-x64.json', 'linux-x64.json.sig'].map((name) => readFileSync(join(home, name)));
  for (const key of keys)
    expect(readFeed(bytes as Buffer, String(signatures), parseKeys(key))).toMatchObject({
      version: '1.2.3',
      target: 'linux-x64',
      bytes: 1000,
    });
});

test('a key file is never replaced, and the content of an invalid key file is not printed', async () => {
  await signFeed(['key', '--to', 'one.pem']);
  const before = readFileSync(join(home, 'one.pem'), 'utf8');
  await expect(signFeed(['key', '--to', 'one.pem'])).rejects.toMatchObject({ code: 2 });
  expect(readFileSync(join(home, 'one.pem'), 'utf8')).toBe(before);
  writeFileSync(join(home, 'bad.pem'), 'my secret words');
  const refused = signFeed(['feed', '--key', 'bad.pem', '--file', 'one.pem', '--app-version', '1.2.3']);
  await expect(refused).rejects.toMatchObject({
    code: 2,
    stderr: 'sign-feed: bad.pem contains no Ed25519 private key in PEM.\n',
  });
});
