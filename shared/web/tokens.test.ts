import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { contrastRatio } from './color.ts';

const read = (path: string) => readFileSync(path, 'utf8');
const tokens = read('shared/web/tokens.css');
const [light = '', dark = ''] = tokens.split('@media (prefers-color-scheme: dark)');

type Palette = Record<string, string>;
const paletteOf = (block: string): Palette =>
  Object.fromEntries(
    Array.from(block.matchAll(/--color-([\w-]+): (#[\da-f]+);/g), ([, name, value]) => [
      name,
      (value as string).length === 4 ? (value as string).replaceAll(/[\da-f]/g, '$&$&') : value,
    ]),
  );
const schemes = [
  ['light', paletteOf(light)],
  ['dark', paletteOf(dark)],
] as const;

const surfaces = ['background', 'sidebar', 'surface', 'surface-muted', 'surface-raised', 'input'];
const roles = ['accent', 'success', 'warning', 'danger'];
const lowContrasts = (palette: Palette, pairs: readonly (readonly [string, string])[], least: number): string[] =>
  pairs
    .filter(([one, other]) => palette[one] !== undefined && palette[other] !== undefined)
    .filter(([one, other]) => contrastRatio(palette[one] as string, palette[other] as string) < least)
    .map(([one, other]) => `${one} on ${other}`);

describe.each(schemes)('the %s palette', (_scheme, palette) => {
  test('defines the same colours as the other palette', () => {
    expect(Object.keys(palette).toSorted()).toEqual(Object.keys(schemes[0][1]).toSorted());
    expect(Object.keys(palette)).toEqual(expect.arrayContaining(['text', 'text-muted', ...surfaces, ...roles]));
  });

  test('has a contrast of at least 4.5 between every text colour and its background', () => {
    const texts = ['text', 'text-muted', 'focus', ...roles].flatMap((text) =>
      surfaces.map((surface) => [text, surface] as const),
    );
    const inRoles = roles.flatMap(
      (role) =>
        [
          [role, `${role}-muted`],
          ['text', `${role}-muted`],
          ['text-muted', `${role}-muted`],
          [`on-${role}`, role],
          [`on-${role}`, `${role}-hover`],
        ] as const,
    );
    expect(lowContrasts(palette, [...texts, ...inRoles], 4.5)).toEqual([]);
    expect(lowContrasts(palette, [['border', 'surface']], 4.5)).toEqual(['border on surface']);
  });

  test('has a contrast of at least 3 between every shape colour and its background', () => {
    const shapes = ['border-control', 'success-indicator', 'chart-1', 'chart-2', 'chart-3'];
    const pairs = shapes.flatMap((shape) =>
      ['background', 'surface', 'surface-muted', 'surface-raised', 'input'].map((surface) => [shape, surface] as const),
    );
    expect(lowContrasts(palette, pairs, 3)).toEqual([]);
  });
});

const styleSheets = ['shared/web', 'hub/web', 'node-agent/renderer'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.css') && !name.startsWith('dist'))
    .map((name) => `${folder}/${name}`),
);

test('a style sheet uses only tokens and properties of its own, and defines no token', () => {
  expect(styleSheets.length).toBeGreaterThan(8);
  const namesIn = (text: string, pattern: RegExp) => Array.from(text.matchAll(pattern), ([, name]) => name as string);
  const defined = namesIn(tokens, /(--[\w-]+):/g);
  for (const path of styleSheets.filter((name) => !name.endsWith('tokens.css'))) {
    const text = read(path);
    const own = namesIn(text, /(--[\w-]+):/g);
    const unknown = namesIn(text, /var\((--[\w-]+)/g).filter((name) => !defined.includes(name) && !own.includes(name));
    expect([path, unknown]).toEqual([path, []]);
    // Tailwind makes classes of the tokens that such a block names.
    const defining = namesIn(text.replaceAll(/@theme inline[^{]*\{[^}]*\}/g, ''), /(--[\w-]+):/g);
    expect([path, defining.filter((name) => defined.includes(name))]).toEqual([path, []]);
  }
});

test('every token is used', () => {
  const texts = styleSheets.map(read).join('\n');
  const names = new Set(Array.from(light.matchAll(/(--[\w-]+):/g), ([, name]) => name as string));
  expect([...names].filter((name) => !texts.includes(`var(${name})`))).toEqual([]);
});

test('the inline style of the widget frame uses the colours of the tokens', () => {
  const style = read('hub/web/loader/style.ts');
  for (const [, { surface, text }] of schemes) {
    const short = (surface as string).replace('#ffffff', '#fff');
    expect(style).toContain(`background:${short};color:${text as string}`);
  }
  expect(style).toContain(`background:${schemes[0][1]['danger'] as string};color:#fff`);
});
