import { useEffect, useLayoutEffect, useRef } from 'react';
import { isComposing, KeyRule, shortcutName } from './key-rule.ts';

/** Whether keys belong to an element, because it takes text or is in a dialog. */
function takesKeys(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.closest('input, textarea, select, dialog') !== null;
}

/** Keys that move through a list also while they are held. All others act once, so that no conversation is changed unseen. */
const repeating: ReadonlySet<string> = new Set(['j', 'k']);
/** Keys that are no part of a text. */
const deliberate: ReadonlySet<string> = new Set(['Escape', 'Tab']);

/** The rule for the whole page: all shortcuts share one keyboard. */
export const keyRule = new KeyRule();

/** Calls the function of a key. Letters are commands only when `KeyRule` accepts them. */
export function useShortcuts(keys: Readonly<Record<string, (() => void) | undefined>>): void {
  const latest = useRef(keys);
  // A key can follow before the browser has painted what it acts on.
  useLayoutEffect(() => {
    latest.current = keys;
  });
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const now = Date.now();
      const isLetter = event.key.length === 1;
      if (deliberate.has(event.key)) keyRule.noteDeliberateAct();
      if (takesKeys(event.target) || document.querySelector('dialog[open]') !== null) {
        if (isLetter || isComposing(event)) keyRule.noteTyping(now);
        return;
      }
      const name = shortcutName(event);
      // Undo is the only shortcut with Ctrl: outside of a field, the browser has nothing to undo.
      if (event.altKey || isComposing(event) || ((event.ctrlKey || event.metaKey) && name !== 'z')) return;
      const run = latest.current[name];
      // Home and End are not letters, so they act immediately.
      if (isLetter && !keyRule.accepts(now)) event.preventDefault();
      else if (run !== undefined) {
        event.preventDefault();
        if (!event.repeat || repeating.has(name)) run();
      } else if (isLetter && event.key !== ' ' && !(name in latest.current)) {
        // The next letters belong to the same text, although the first one is no command.
        keyRule.noteTyping(now);
      }
    };
    const onPointer = () => keyRule.noteDeliberateAct();
    addEventListener('keydown', onKey);
    addEventListener('pointerdown', onPointer);
    return () => {
      removeEventListener('keydown', onKey);
      removeEventListener('pointerdown', onPointer);
      keyRule.noteDeliberateAct();
    };
  }, []);
}
