import { expect, test } from 'vitest';
import { commands } from '../../shared/commands/catalog.ts';
import { describeInput } from './describe-input.ts';

const target = { role: 'button', name: 'Send' };

test.each([
  ['browser.select', { target, options: ['secret'] }, '1 option of button "Send"'],
  ['browser.check', { target, checked: false }, 'uncheck button "Send"'],
  ['browser.press', { key: 'Enter', target }, 'Enter on button "Send"'],
  ['browser.press', { key: 'p' }, 'one character'],
  ['system.run', { argv: ['ls', { toString: 1 }, null] }, 'ls "{\\"toString\\":1}" null'],
  ['browser.scroll', { y: -300 }, '300 pixels up'],
  ['browser.upload', { target, files: [{ path: '/srv/a.pdf' }] }, '/srv/a.pdf into button "Send"'],
  [
    'browser.wait_for',
    { target, state: 'hidden', url: 'https://example.org/?token=secret', load: 'load' },
    'until button "Send" is hidden, until its address is https://example.org/?%E2%80%A6, until it has loaded',
  ],
  ['browser.navigate', { url: 'https://example.org/', newPage: false, waitUntil: 'load' }, 'https://example.org/'],
])('%s is described in plain words', (type, input, words) => {
  expect(describeInput(type, input)).toBe(words);
});

test('every command of the catalog has its own description', () => {
  const raw = Object.keys(commands).filter((type) =>
    describeInput(type, { unknownField: 'x' }).includes('unknownField'),
  );
  expect(raw).toEqual([]);
});
