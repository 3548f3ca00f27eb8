import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';

const pages = ['README.md', 'CONTRIBUTING.md', ...globSync('docs/**/*.md').toSorted()];

/** The anchors of the headings of a page. */
const anchorsOf = (path: string) =>
  [...readFileSync(path, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );

test.each(pages)('every link of %s has an existing target', (page) => {
  const links = [...readFileSync(page, 'utf8').matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)];
  const broken = links.filter(([, path = '', anchor]) => {
    const target = path === '' ? page : join(dirname(page), path);
    return !existsSync(target) || (anchor !== undefined && !anchorsOf(target).includes(anchor));
  });
  expect(broken.map(([link]) => link)).toEqual([]);
});

test('the index of the docs lists every page, and the README links to the index', () => {
  const index = readFileSync('docs/README.md', 'utf8');
  const missing = globSync('docs/**/*.md').filter(
    (page) => page !== 'docs/README.md' && !index.includes(`](${relative('docs', page)})`),
  );
  expect(missing).toEqual([]);
  expect(readFileSync('README.md', 'utf8')).toContain('](docs/README.md)');
});
