import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, brotliDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';

const kilobyte = 1024;
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'outrigger-widget-'));
  execFileSync(process.execPath, [join(import.meta.dirname, 'build.ts'), folder], { stdio: 'inherit' });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const zipped = (name: string) => readFileSync(join(folder, `${name}.gz`)).length;

test('the loader has at most 5 KB, the page with its style and one language at most 45 KB', () => {
  const { script, style } = JSON.parse(readFileSync(join(folder, 'assets.json'), 'utf8')) as Record<string, string>;
  const languages = readdirSync(join(folder, 'assets')).filter((name) => name.endsWith('.js') && name !== script);
  expect(languages).toHaveLength(5);
  const largest = Math.max(...languages.map((name) => zipped(`assets/${name}`)));
  expect(zipped('widget.js')).toBeLessThanOrEqual(5 * kilobyte);
  expect(zipped(`assets/${script}`) + zipped(`assets/${style}`) + largest).toBeLessThanOrEqual(45 * kilobyte);
});

test('each file unpacks to itself in both encodings, and nothing in it makes a style element or code out of text', () => {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.(?:js|css)$/.test(name));
  expect(names.length).toBeGreaterThan(6);
  for (const name of names) {
    const text = readFileSync(join(folder, name), 'utf8');
    expect(gunzipSync(readFileSync(join(folder, `${name}.gz`))).toString()).toBe(text);
    expect(brotliDecompressSync(readFileSync(join(folder, `${name}.br`))).toString()).toBe(text);
    expect(text).not.toMatch(/createElement\(["'`]style|\beval\(|new Function\(|document\.write/);
  }
});
