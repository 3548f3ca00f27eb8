import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isWindowAddress, WindowFiles, windowHeaders } from './window-files.ts';

let folder: string;
let files: WindowFiles;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'outrigger-window-'));
  mkdirSync(join(folder, 'window', 'assets'), { recursive: true });
  for (const name of ['secret.html', 'window/index.html', 'window/assets/main.js', 'window/assets/main.js.map'])
    writeFileSync(join(folder, name), name);
  symlinkSync(join(folder, 'secret.html'), join(folder, 'window', 'link.html'));
  files = new WindowFiles(join(folder, 'window'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the files of the window', () => {
  test('are the built files', () => {
    expect(files.find('outrigger-app://window/')).toEqual({
      path: join(folder, 'window', 'index.html'),
      contentType: 'text/html; charset=utf-8',
    });
    expect(files.find('outrigger-app://window/assets/main.js?v=1#x')?.contentType).toBe(
      'text/javascript; charset=utf-8',
    );
  });

  test.each([
    'outrigger-app://window/../secret.html',
    'outrigger-app://window/%2e%2e/secret.html',
    'outrigger-app://window/..%2fsecret.html',
    'outrigger-app://window/assets/..%5c..%5csecret.html',
    'outrigger-app://window//etc/passwd',
    'outrigger-app://window/assets/main.js.map',
    'outrigger-app://window/link.html',
    'outrigger-app://other/index.html',
    'outrigger-app://user@window/index.html',
    'file:///etc/passwd',
    'nonsense',
  ])('do not include %s', (address) => {
    expect(files.find(address)).toBeNull();
  });

  test('have a content security policy without remote sources', () => {
    expect(windowHeaders['content-security-policy']).toMatch(/^default-src 'none';/);
    expect(windowHeaders['content-security-policy']).not.toMatch(/unsafe|\*|https?:/);
  });
});

test.each([
  ['outrigger-app://window/index.html', true],
  ['outrigger-app://window.evil/index.html', false],
  ['outrigger-app://recorder/', false],
  ['https://window/', false],
  ['about:blank', false],
  ['', false],
])('%s is of the window: %s', (address, expected) => {
  expect(isWindowAddress(address)).toBe(expected);
});
