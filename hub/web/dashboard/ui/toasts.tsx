import { X } from 'lucide-react';
import { useEffect } from 'react';
import { Store } from '../../../../shared/web/store.ts';
import { useWords } from '../app/language.tsx';
import { useStore } from '../app/use-store.ts';
import { Button, IconButton } from './button.tsx';

interface Toast {
  id: number;
  text: string;
  tone: 'neutral' | 'danger';
  /** Milliseconds until it disappears. */
  forMs: number;
  undo?: () => void;
  /** The key that the page offers for `undo`. */
  undoKey?: string;
  onEnd?: () => void;
}

const toasts = new Store<{ list: readonly Toast[] }>({ list: [] });
let nextId = 1;

/** Shows a message for a few seconds. `undo` adds a button; `onEnd` is called unless the user clicks it. */
export function showToast(text: string, options: Partial<Omit<Toast, 'id' | 'text'>> = {}): void {
  const toast: Toast = { tone: 'neutral', forMs: 5_000, ...options, id: nextId, text };
  nextId += 1;
  toasts.set({ list: [...toasts.state.list, toast] });
}

/** Ends a message, and undoes its action or lets it stand. */
function end(toast: Toast, isUndone: boolean): void {
  if (!toasts.state.list.includes(toast)) return;
  toasts.set({ list: toasts.state.list.filter(({ id }) => id !== toast.id) });
  if (isUndone) toast.undo?.();
  else toast.onEnd?.();
}

/** Undoes the action of the newest message that offers it. */
export function undoNewest(): void {
  const toast = toasts.state.list.findLast(({ undo }) => undo !== undefined);
  if (toast !== undefined) end(toast, true);
}

/** Milliseconds in which an action can be undone. */
export const undoMs = 8_000;

/**
 * Deletes after a time in which the user can undo it, or when the page is left. `remove` must send its request with
 * `keepalive`, so that it outlives the page.
 */
export function deleteWithUndo(
  text: string,
  { hide, restore, remove }: { hide: () => void; restore: () => void; remove: () => void },
): void {
  hide();
  showToast(text, { forMs: undoMs, undo: restore, onEnd: remove });
}

function ToastView({ toast }: { toast: Toast }) {
  const words = useWords().common;
  useEffect(() => {
    const timer = setTimeout(() => end(toast, false), toast.forMs);
    const leave = () => end(toast, false);
    // A sign-out ends the session before `pagehide`. Not every mobile browser has `beforeunload`.
    const signals = ['beforeunload', 'pagehide'];
    for (const signal of signals) addEventListener(signal, leave);
    return () => {
      clearTimeout(timer);
      for (const signal of signals) removeEventListener(signal, leave);
    };
  }, []);
  return (
    <div
      className={`pointer-events-auto flex items-center gap-3 rounded-(--radius-large) border bg-surface-raised py-2 ps-4 pe-2 shadow-medium ${toast.tone === 'danger' ? 'text-danger' : ''}`}
    >
      <p className="min-w-0 wrap-anywhere">{toast.text}</p>
      {toast.undo !== undefined && (
        <Button size="small" onClick={() => end(toast, true)}>
          {words.undo}
          {toast.undoKey !== undefined && (
            <kbd aria-hidden className="text-xs font-normal">
              {toast.undoKey}
            </kbd>
          )}
        </Button>
      )}
      <IconButton label={words.close} onClick={() => end(toast, false)}>
        <X size={16} aria-hidden />
      </IconButton>
    </div>
  );
}

/** The messages at the lower edge of the page. */
export function Toasts() {
  const { list } = useStore(toasts);
  return (
    <div
      aria-live="polite"
      className="pointer-events-none fixed inset-x-4 bottom-4 z-20 flex flex-col items-center gap-2"
    >
      {list.map((toast) => (
        <ToastView key={toast.id} toast={toast} />
      ))}
    </div>
  );
}
