import { AlertDialog } from '@base-ui/react/alert-dialog';
import { Dialog } from '@base-ui/react/dialog';
import { createContext, useContext, useRef } from 'react';
import type { ReactNode } from 'react';
import { useAction, useSelected, useStore } from './companion-context.tsx';
import { ActionError, Button } from './controls.tsx';
import { CrossIcon, PauseIcon } from './icons.tsx';

/** Whether something more urgent lies over the window: dialogs with less to say wait until it is gone. */
export const CoveredContext = createContext(false);

/** Pauses everything from within a dialog, which covers the button of the page. */
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
        onClick={() => void action.run(() => store.change({ change: 'pause' }))}
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

/** A dialog that its owner may close at any time. */
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
  /** What Escape does; nothing when left out, for what must be decided. */
  onClose?: () => void;
  /** Lies over every other dialog. */
  isUrgent?: boolean;
  isWide?: boolean;
  /** With it, head and foot stay in sight however long the rest is, which scrolls between the two. */
  frame?: { head: ReactNode; foot: ReactNode };
  children: ReactNode;
}

/** A dialog that asks for a decision: it begins at its title, where no key decides anything, and a click beside it does not close it. */
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
