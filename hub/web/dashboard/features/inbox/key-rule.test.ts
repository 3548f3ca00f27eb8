import { describe, expect, test } from 'vitest';
import { isComposing, KeyRule, shortcutName } from './key-rule.ts';

describe('the name of a shortcut', () => {
  const name = (key: string, code: string, shiftKey = false) => shortcutName({ key, code, shiftKey });
  test('is the letter, and upper case only with Shift', () => {
    expect([name('j', 'KeyJ'), name('A', 'KeyA', true)]).toEqual(['j', 'A']);
    // Caps Lock, without and with Shift.
    expect([name('J', 'KeyJ'), name('a', 'KeyA', true)]).toEqual(['j', 'A']);
    // The letter counts, not its position: Dvorak has J at the position of C.
    expect(name('j', 'KeyC')).toBe('j');
  });
  test('is the letter at the same position with another script', () => {
    expect([name('ت', 'KeyJ'), name('о', 'KeyJ'), name('О', 'KeyJ'), name('ِ', 'KeyA', true)]).toEqual([
      'j',
      'j',
      'j',
      'A',
    ]);
    expect([name('ظ', 'Slash'), name('؟', 'Slash', true), name('№', 'Digit3', true)]).toEqual(['/', '?', '#']);
  });
  test('is the character of other keys', () => {
    expect([name('/', 'Digit7', true), name('#', 'Backslash'), name('Escape', 'Escape')]).toEqual(['/', '#', 'Escape']);
  });
});

describe('a letter is a command', () => {
  test('only after a second without letters, and each ignored letter begins the second anew', () => {
    const rule = new KeyRule();
    expect(rule.accepts(0)).toBe(true);
    rule.noteTyping(0);
    expect([300, 900, 1_800, 2_700].map((now) => rule.accepts(now))).toEqual([false, false, false, false]);
    expect(rule.accepts(3_700)).toBe(true);
  });
  test('immediately after a deliberate act', () => {
    const rule = new KeyRule();
    rule.noteTyping(0);
    rule.noteDeliberateAct();
    expect(rule.accepts(1)).toBe(true);
  });
  test('never after a field disappeared, until a deliberate act', () => {
    const rule = new KeyRule();
    rule.noteQuiet(0, Infinity);
    expect(rule.accepts(1_000_000)).toBe(false);
    rule.noteDeliberateAct();
    expect(rule.accepts(1_000_001)).toBe(true);
  });
  test('not immediately after a conversation appeared that opened by itself, however late it appeared', () => {
    const rule = new KeyRule();
    rule.noteSurprise(0);
    rule.noteShown(5_000);
    expect(rule.accepts(5_100)).toBe(false);
  });
  test('after a conversation appeared that the agent opened or has acted on', () => {
    const rule = new KeyRule();
    rule.noteShown(0);
    expect(rule.accepts(1)).toBe(true);
    for (const act of [() => rule.noteDeliberateAct(), () => rule.accepts(5_000)]) {
      rule.noteSurprise(1);
      act();
      rule.noteShown(5_000);
      expect(rule.accepts(5_001)).toBe(true);
    }
  });
});

test('the key that ends a composition in Safari belongs to the input method', () => {
  expect(isComposing({ isComposing: false, keyCode: 229 })).toBe(true);
  expect(isComposing({ isComposing: true, keyCode: 13 })).toBe(true);
  expect(isComposing({ isComposing: false, keyCode: 13 })).toBe(false);
});
