import { useEffect, useRef } from 'react';

/** Whether keys belong to the element with the focus. */
function takesKeys(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.closest('input, textarea, select, dialog') !== null;
}

/** Keys that move through a list also while they are held. All others act once, so that no conversation is changed unseen. */
const repeating: ReadonlySet<string> = new Set(['j', 'k']);

/** Calls the function of a key while no field and no dialog has the focus. */
export function useShortcuts(keys: Readonly<Record<string, (() => void) | undefined>>): void {
  const latest = useRef(keys);
  useEffect(() => {
    latest.current = keys;
  });
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || takesKeys(event.target)) return;
      if (document.querySelector('dialog[open]') !== null) return;
      const run = latest.current[event.key];
      if (run === undefined) return;
      event.preventDefault();
      if (!event.repeat || repeating.has(event.key)) run();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}
