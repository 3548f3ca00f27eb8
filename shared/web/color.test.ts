import fc from 'fast-check';
import { expect, test } from 'vitest';
import { contrastColor, contrastRatio } from './color.ts';

test('contrastColor has the contrast of WCAG AA on any colour', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 0xff_ff_ff }), (number) => {
      const color = `#${number.toString(16).padStart(6, '0')}`;
      expect(contrastRatio(color, contrastColor(color))).toBeGreaterThanOrEqual(4.5);
    }),
  );
  expect([contrastRatio('#ffffff', '#000000'), contrastRatio('#0b66a8', '#0b66a8')]).toEqual([21, 1]);
});
