import { expect, test } from 'vitest';
import { toSpokenText } from './spoken-text.ts';

test('spoken text omits Markdown syntax and keeps the marked text', () => {
  expect(
    toSpokenText('# Hours\n- **Mon** to _Fri_, `9-17`, see [our page](https://example.com/x)\n> 2 * 3 = snake_case'),
  ).toBe('Hours\nMon to Fri, 9-17, see our page\n2 * 3 = snake_case');
  expect(toSpokenText('See [our page] ([link removed]), or [link removed].')).toBe('See our page, or.');
});
