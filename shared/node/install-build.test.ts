import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { installBuild } from './install-build.ts';

let folder: string;
let target: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'outrigger-install-'));
  target = join(folder, 'target');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A build with one script that every build has, one of its own, and files with fixed names. */
function buildOf(mark: string): string {
  const build = join(folder, mark);
  const files = {
    'assets/page-unchange.js': 'same',
    'assets/licenses.md': `licenses of ${mark}`,
    [`assets/page-${mark.padEnd(8, '0')}.js`]: `script of ${mark}`,
    [`assets/page-${mark.padEnd(8, '0')}.js.br`]: `compressed script of ${mark}`,
    'widget.js': `loader of ${mark}`,
    'assets.json': JSON.stringify({ page: { script: `page-${mark.padEnd(8, '0')}.js` } }),
  };
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(build, name)), { recursive: true });
    writeFileSync(join(build, name), text);
  }
  return build;
}
const scripts = () =>
  readdirSync(join(target, 'assets'))
    .filter((name) => name.endsWith('.js'))
    .toSorted();
const read = (name: string) => readFileSync(join(target, name), 'utf8');

test('the scripts of one build before stay, and older ones are deleted with their compressed copies', () => {
  installBuild(buildOf('one'), target);
  expect(scripts()).toEqual(['page-one00000.js', 'page-unchange.js']);
  installBuild(buildOf('two'), target);
  expect(scripts()).toEqual(['page-one00000.js', 'page-two00000.js', 'page-unchange.js']);
  expect(read('assets/page-one00000.js.br')).toBe('compressed script of one');
  installBuild(buildOf('three'), target);
  expect(scripts()).toEqual(['page-three000.js', 'page-two00000.js', 'page-unchange.js']);
  expect(existsSync(join(target, 'assets/page-one00000.js.br'))).toBe(false);
});

test('the same build again does not replace the build before it', () => {
  installBuild(buildOf('one'), target);
  installBuild(buildOf('two'), target);
  for (let times = 0; times < 2; times += 1) installBuild(buildOf('two'), target);
  expect(scripts()).toEqual(['page-one00000.js', 'page-two00000.js', 'page-unchange.js']);
});

test('files with fixed names are those of the newest build, and leftovers of a stopped installation are deleted', () => {
  installBuild(buildOf('one'), target);
  const anHourAgo = Date.now() / 1000 - 3600;
  for (const name of ['assets/page-one00000.js.partial', 'widget.js.partial']) {
    writeFileSync(join(target, name), 'half');
    utimesSync(join(target, name), anHourAgo, anHourAgo);
  }
  installBuild(buildOf('two'), target);
  expect(read('widget.js')).toBe('loader of two');
  expect(read('assets/licenses.md')).toBe('licenses of two');
  expect(read('assets.json')).toContain('page-two00000.js');
  expect(readdirSync(target).toSorted()).toEqual(['assets', 'assets.json', 'generations.json', 'widget.js']);
  expect(readdirSync(join(target, 'assets')).filter((name) => name.endsWith('.partial'))).toEqual([]);
});

test('a partial file that another process may still write stays', () => {
  installBuild(buildOf('one'), target);
  writeFileSync(join(target, 'widget.js.partial'), 'half');
  installBuild(buildOf('two'), target);
  expect(read('widget.js.partial')).toBe('half');
});

test.each([
  ['is missing', () => rmSync(join(target, 'generations.json'))],
  ['is cut off', () => truncateSync(join(target, 'generations.json'), 20)],
  ['has other content', () => writeFileSync(join(target, 'generations.json'), '{"current":"all","previous":[1]}')],
])('when the record of generations %s, all files count as the build before', (_, damage) => {
  installBuild(buildOf('one'), target);
  damage();
  installBuild(buildOf('two'), target);
  expect(scripts()).toEqual(['page-one00000.js', 'page-two00000.js', 'page-unchange.js']);
  installBuild(buildOf('three'), target);
  expect(scripts()).toEqual(['page-three000.js', 'page-two00000.js', 'page-unchange.js']);
});

test('a script that a crash cut off is written again', () => {
  installBuild(buildOf('one'), target);
  truncateSync(join(target, 'assets/page-one00000.js'), 3);
  installBuild(buildOf('one'), target);
  expect(read('assets/page-one00000.js')).toBe('script of one');
});

test('a selection of files keeps the scripts of one build before, too', () => {
  const isWanted = (name: string) => name === 'assets.json' || name.startsWith('assets/');
  for (const mark of ['one', 'two', 'three']) installBuild(buildOf(mark), target, isWanted);
  expect(scripts()).toEqual(['page-three000.js', 'page-two00000.js', 'page-unchange.js']);
  expect(existsSync(join(target, 'widget.js'))).toBe(false);
});
