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

const gzippedBytes = (name: string) => readFileSync(join(folder, `${name}.gz`)).length;

type Assets = Record<
  'page' | 'voice' | 'phone' | 'dashboard' | 'notify',
  { script: string; style: string; capture?: string }
>;
const readAssets = () => JSON.parse(readFileSync(join(folder, 'assets.json'), 'utf8')) as Assets;

/** Limits for a page with its style and one language. The softphone includes a SIP stack. */
const maxKilobytes = { page: 45, voice: 45, phone: 90 };

test('the compressed loader has at most 5 KB, the chat and voice pages 45 KB each and the softphone 90 KB, with style and one language', () => {
  expect(gzippedBytes('widget.js')).toBeLessThanOrEqual(5 * kilobyte);
  const { dashboard: _dashboard, notify: _notify, ...pages } = readAssets();
  for (const [name, { script, style, capture }] of Object.entries(pages)) {
    const languages = readdirSync(join(folder, 'assets')).filter(
      (file) => file.startsWith(`${name}-`) && file.endsWith('.js') && file !== script,
    );
    expect(languages).toHaveLength(5);
    const largest = Math.max(...languages.map((file) => gzippedBytes(`assets/${file}`)));
    const entrySizes = [script, style, capture].flatMap((file) =>
      file === undefined ? [] : [gzippedBytes(`assets/${file}`)],
    );
    expect(entrySizes.reduce((sum, size) => sum + size, largest)).toBeLessThanOrEqual(
      maxKilobytes[name as keyof typeof maxKilobytes] * kilobyte,
    );
  }
});

/** A script with the scripts that it imports, and those that they import. */
function withImports(name: string, found = new Set<string>()): Set<string> {
  if (found.has(name)) return found;
  found.add(name);
  const text = readFileSync(join(folder, 'assets', name), 'utf8');
  for (const [, imported] of text.matchAll(/(?:from|import)\s*["'`]\.\/([^"'`]+\.js)["'`]/g))
    withImports(imported as string, found);
  return found;
}

test('the list of runs of the dashboard loads at most 170 KB compressed: scripts with all their imports, the texts of one language and the style', () => {
  const { script, style } = readAssets().dashboard;
  const assets = readdirSync(join(folder, 'assets'));
  const runs = assets.filter((file) => /^dashboard-runs-page-.*\.js$/.test(file));
  expect(runs).toHaveLength(1);
  const files = [...withImports(runs[0] as string, withImports(script)), style];
  expect(files.length).toBeGreaterThan(4);
  const sizes = files.map((file) => gzippedBytes(`assets/${file}`));
  // The tables of texts of this page. The hash in a name has eight characters.
  for (const table of ['common', 'runs']) {
    const languages = assets.filter((file) => new RegExp(`^dashboard-${table}-.{8}\\.js$`).test(file));
    // English texts that all pages have are in the first script.
    expect(languages).toHaveLength(table === 'common' ? 2 : 3);
    sizes.push(Math.max(...languages.map((file) => gzippedBytes(`assets/${file}`))));
  }
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(170 * kilobyte);
});

test('both compressed copies of each file decompress to the file, and no file creates style elements or evaluates text as code', () => {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    // The script of a library, which the hub compresses itself and serves on a page with a policy of its own.
    (name) => /\.(?:js|css)$/.test(name) && name !== 'api-reference.js',
  );
  expect(names.length).toBeGreaterThan(6);
  for (const name of names) {
    const text = readFileSync(join(folder, name), 'utf8');
    expect(gunzipSync(readFileSync(join(folder, `${name}.gz`))).toString()).toBe(text);
    expect(brotliDecompressSync(readFileSync(join(folder, `${name}.br`))).toString()).toBe(text);
    const found = text.match(/createElement\(["'`]style|\beval\(|new Function\(|document\.write/g) ?? [];
    // React can move style elements of components into the head of the page. The dashboard has no such component.
    const known = name.startsWith('assets/dashboard-') ? ['createElement(`style'] : [];
    expect(found.filter((use) => !known.includes(use))).toEqual([]);
  }
});
