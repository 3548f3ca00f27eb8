import { useEffect, useRef, useState } from 'react';

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.closest('input:not([type=checkbox]), textarea, select, dialog') !== null);

/** Moves through rows with j and k, and selects with x. Enter opens the focused link. @returns the id of the present row. */
export function useRowKeys(rows: readonly { id: string }[], onSelect: (id: string) => void): string | null {
  const [current, setCurrent] = useState<string | null>(null);
  const latest = useRef({ rows, current, onSelect });
  latest.current = { rows, current, onSelect };
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (document.querySelector('dialog[open]') !== null) return;
      const { rows: shown, current: id, onSelect: select } = latest.current;
      const focused = event.target instanceof HTMLElement ? (event.target.dataset['run'] ?? id) : id;
      const index = shown.findIndex((row) => row.id === focused);
      const step = event.key === 'j' ? 1 : event.key === 'k' ? -1 : 0;
      if (step !== 0) setCurrent(shown[Math.max(0, Math.min(shown.length - 1, index + step))]?.id ?? null);
      else if (event.key === 'x' && index !== -1) select((shown[index] as { id: string }).id);
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return current;
}
