import { X } from 'lucide-react';
import { useId, useLayoutEffect, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import { useWords } from '../app/language.tsx';
import { Button, IconButton } from './button.tsx';
import { ErrorNote } from './error.tsx';

interface DialogProps {
  title: ReactNode;
  onClose: () => void;
  children: ReactNode;
  /** Wide dialogs show tables or code. */
  isWide?: boolean;
  /** Whether the user can close it without a decision. */
  isClosable?: boolean;
}

/** A modal dialog. It is open while it is rendered. The browser moves the focus into it, and back when it closes. */
export function Dialog({ title, onClose, children, isWide = false, isClosable = true }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  const { close } = useWords().common;
  const [isShown, setShown] = useState(false);
  const wasTyping = useRef(false);
  useLayoutEffect(() => {
    const dialog = ref.current;
    wasTyping.current = document.activeElement?.matches('input, textarea') === true;
    dialog?.showModal();
    // A field with `autoFocus` gets the focus only if it is added to an open dialog.
    setShown(true);
    return () => dialog?.close();
  }, []);
  useLayoutEffect(() => {
    // A dialog that the user did not open must not take the rest of a text into its field.
    if (isShown && !isClosable && wasTyping.current) ref.current?.focus();
  }, [isShown, isClosable]);
  return (
    <dialog
      ref={ref}
      tabIndex={-1}
      aria-labelledby={id}
      className={`m-auto max-h-[calc(100dvh-2rem)] w-[calc(100vw-2rem)] rounded-(--radius-large) border bg-surface-raised p-0 text-text shadow-large outline-none ${isWide ? 'max-w-4xl' : 'max-w-lg'}`}
      onCancel={(event) => {
        event.preventDefault();
        if (isClosable) onClose();
      }}
    >
      {isShown && (
        <>
          <div className="flex items-center gap-2 border-b px-4 py-3">
            <h2 id={id} className="min-w-0 text-lg wrap-anywhere">
              {title}
            </h2>
            {isClosable && (
              <IconButton label={close} className="ms-auto" onClick={onClose}>
                <X size={18} aria-hidden />
              </IconButton>
            )}
          </div>
          <div className="p-4">{children}</div>
        </>
      )}
    </dialog>
  );
}

interface ConfirmProps {
  title: string;
  /** What happens, and whether it can be undone. */
  children: ReactNode;
  /** The verb on the button, such as "Delete token". */
  confirm: string;
  /** The button that changes nothing. "Cancel" would be ambiguous beside "Cancel run". */
  keep?: string;
  isDangerous?: boolean;
  action: { isPending: boolean; error: Error | null };
  onConfirm: () => void;
  onClose: () => void;
}

/** Asks before an action. It stays open until the hub responded. */
export function Confirm({
  title,
  children,
  confirm,
  keep,
  isDangerous = true,
  action,
  onConfirm,
  onClose,
}: ConfirmProps) {
  const { cancel } = useWords().common;
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="mb-4 text-text-muted">{children}</div>
      <ErrorNote error={action.error} />
      <div className="mt-4 flex justify-end gap-2">
        <Button onClick={onClose}>{keep ?? cancel}</Button>
        <Button variant={isDangerous ? 'danger' : 'primary'} isBusy={action.isPending} onClick={onConfirm}>
          {confirm}
        </Button>
      </div>
    </Dialog>
  );
}
