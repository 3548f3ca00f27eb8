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

type Begun = Record<'page' | 'voice' | 'phone', { script: string; style: string; capture?: string }>;
const begun = () => JSON.parse(readFileSync(join(folder, 'assets.json'), 'utf8')) as Begun;

/** A page with its style and one language; the softphone brings a whole SIP stack with it. */
const mostKilobytes = { page: 45, voice: 45, phone: 90 };

test('the loader has at most 5 KB, each page with its style and one language at most 45 KB, and the softphone 90 KB', () => {
  expect(zipped('widget.js')).toBeLessThanOrEqual(5 * kilobyte);
  for (const [name, { script, style, capture }] of Object.entries(begun())) {
    const languages = readdirSync(join(folder, 'assets')).filter(
      (file) => file.startsWith(`${name}-`) && file.endsWith('.js') && file !== script,
    );
    expect(languages).toHaveLength(5);
    const largest = Math.max(...languages.map((file) => zipped(`assets/${file}`)));
    const always = [script, style, capture].flatMap((file) => (file === undefined ? [] : [zipped(`assets/${file}`)]));
    expect(always.reduce((sum, size) => sum + size, largest)).toBeLessThanOrEqual(
      mostKilobytes[name as keyof Begun] * kilobyte,
    );
  }
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
