import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

/** The anchors that a page's headings have. */
const anchorsOf = (path: string) =>
  [...readFileSync(path, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );

test.each(pages)('%s links to nothing that is not there', (page) => {
  const links = [...readFileSync(page, 'utf8').matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)];
  const broken = links.filter(([, path = '', anchor]) => {
    const target = path === '' ? page : join(dirname(page), path);
    return !existsSync(target) || (anchor !== undefined && !anchorsOf(target).includes(anchor));
  });
  expect(broken.map(([link]) => link)).toEqual([]);
});

test('every page of docs is linked from the README', () => {
  const readme = readFileSync('README.md', 'utf8');
  expect(pages.filter((page) => page !== 'README.md' && !readme.includes(`](${page})`))).toEqual([]);
});
