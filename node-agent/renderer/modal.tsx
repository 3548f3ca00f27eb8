import { AlertDialog } from '@base-ui/react/alert-dialog';
import { Dialog } from '@base-ui/react/dialog';
import { createContext, useContext, useRef } from 'react';
import type { ReactNode } from 'react';
import { useAction, useSelected, useStore } from './companion-context.tsx';
import { ActionError, Button } from './controls.tsx';
import { CrossIcon, PauseIcon } from './icons.tsx';

/** Whether an urgent dialog is open. Other dialogs are hidden until it closes. */
export const CoveredContext = createContext(false);

/** The pause button inside a dialog, because the dialog covers the one of the page. */
function PauseButton() {
  const store = useStore();
  const action = useAction();
  const isPaused = useSelected(({ state }) => state?.settings.paused ?? true);
  if (isPaused) return null;
  return (
    <>
      <Button
        size="small"
        className="pause"
        disabled={action.isBusy}
        onClick={() => action.run(() => store.change({ change: 'pause' }))}
      >
        <PauseIcon size={16} />
        Pause
      </Button>
      <ActionError action={action} title="It was not paused" />
    </>
  );
}

interface ModalProps {
  isOpen: boolean;
  title: ReactNode;
  onClose: () => void;
  isWide?: boolean;
  children: ReactNode;
}

/** A dialog that the owner can close at any time. */
export function Modal({ isOpen, title, onClose, isWide = false, children }: ModalProps) {
  const isCovered = useContext(CoveredContext);
  return (
    <Dialog.Root open={isOpen && !isCovered} onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Viewport className="viewport">
          <Dialog.Popup className={`popup ${isWide ? 'wide' : ''}`}>
            <div className="popup-head">
              <Dialog.Title className="popup-title">{title}</Dialog.Title>
              <PauseButton />
              <Dialog.Close className="button quiet icon-only" aria-label="Close">
                <CrossIcon />
              </Dialog.Close>
            </div>
            {children}
          </Dialog.Popup>
        </Dialog.Viewport>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

interface DecisionProps {
  isOpen: boolean;
  title: ReactNode;
  /** Called on Escape. If omitted, Escape does nothing and the owner must decide. */
  onClose?: () => void;
  /** Shown above every other dialog. */
  isUrgent?: boolean;
  isWide?: boolean;
  /** Head and foot that stay visible while the content scrolls between them. */
  frame?: { head: ReactNode; foot: ReactNode };
  children: ReactNode;
}

/**
 * A dialog that asks for a decision. Focus starts at the title, so that no key decides. A click beside the dialog does
 * not close it.
 */
export function Decision({ isOpen, title, onClose, isUrgent = false, isWide = false, frame, children }: DecisionProps) {
  const isCovered = useContext(CoveredContext);
  const titleElement = useRef<HTMLHeadingElement>(null);
  const titleLine = (
    <AlertDialog.Title ref={titleElement} tabIndex={-1} className="popup-title">
      {title}
    </AlertDialog.Title>
  );
  return (
    <AlertDialog.Root open={isOpen && (isUrgent || !isCovered)} onOpenChange={(open) => !open && onClose?.()}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className="backdrop" />
        <AlertDialog.Viewport className="viewport">
          <AlertDialog.Popup
            className={`popup ${isWide ? 'wide' : ''} ${frame === undefined ? '' : 'framed'}`}
            initialFocus={titleElement}
          >
            {frame === undefined ? (
              <div className="popup-head">
                {titleLine}
                <PauseButton />
              </div>
            ) : (
              <div className="frame-head">
                {titleLine}
                {frame.head}
              </div>
            )}
            {children}
            {frame !== undefined && <div className="frame-foot">{frame.foot}</div>}
          </AlertDialog.Popup>
        </AlertDialog.Viewport>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
