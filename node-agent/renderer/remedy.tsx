import { useState } from 'react';
import type { ReactNode } from 'react';
import { wideShareWarning } from '../../shared/companion/consent-warnings.ts';
import type { Remedy, SystemPermission } from '../../shared/companion/state.ts';
import { useAction, useStore } from './companion-context.tsx';
import { ActionError, Button, Line, Lines } from './controls.tsx';
import { Decision } from './modal.tsx';
import { partNames } from './words.ts';

/** Shares the folder chosen in the folder dialog of the system. A home folder or a drive needs a confirmation first. */
export function ShareFolder({ children }: { children: ReactNode }) {
  const store = useStore();
  const action = useAction();
  const [widePath, setWidePath] = useState<string | null>(null);
  const choose = () =>
    action.run(async () => {
      const { path, isWide } = await store.call('app.chooseFolder', {});
      if (path === null) return;
      if (isWide) setWidePath(path);
      else await store.change({ change: 'share', path });
    });
  const shareWide = (path: string) =>
    action.run(
      () => store.change({ change: 'share', path, isWide: true }),
      () => setWidePath(null),
    );
  const cancel = () => {
    setWidePath(null);
    action.clear();
  };
  return (
    <>
      <Button size="small" disabled={action.isBusy} onClick={() => choose()}>
        {children}
      </Button>
      {widePath === null ? (
        <ActionError action={action} />
      ) : (
        <Decision isOpen title="Share all of this?" onClose={cancel}>
          <p>
            <code>
              <Line text={widePath} />
            </code>{' '}
            {wideShareWarning}
          </p>
          <p>It is safer to share a folder inside it.</p>
          <ActionError action={action} title="It was not shared" />
          <div className="popup-end">
            <Button size="big" disabled={action.isBusy} onClick={cancel}>
              Cancel
            </Button>
            <Button variant="danger" size="big" disabled={action.isBusy} onClick={() => shareWide(widePath)}>
              Share all of it
            </Button>
          </div>
        </Decision>
      )}
    </>
  );
}

/** What blocks a power, with a button that helps if there is one. */
export function RemedyLine({ remedy }: { remedy: Remedy }) {
  const store = useStore();
  const action = useAction();
  const { action: remedyAction } = remedy;
  const part = remedyAction?.kind === 'ask_system' ? partNames.find((name) => name === remedyAction.power) : undefined;
  return (
    <div className="remedy">
      <p>
        <Lines text={remedy.text} />
      </p>
      {remedyAction?.kind === 'open_settings' && (
        <Button
          size="small"
          onClick={() => action.run(() => store.call('app.openSystemSettings', { pane: remedyAction.pane }))}
        >
          Open system settings
        </Button>
      )}
      {remedyAction?.kind === 'copy' && (
        <div className="command">
          <code>
            <Line text={remedyAction.command} />
          </code>
          <Button size="small" onClick={() => action.run(() => store.call('app.copy', { text: remedyAction.command }))}>
            Copy
          </Button>
        </div>
      )}
      {part !== undefined && (
        <Button
          size="small"
          disabled={action.isBusy}
          onClick={() => action.run(() => store.call('test', { parts: [part] }))}
        >
          Ask the system
        </Button>
      )}
      {remedyAction?.kind === 'share_folder' && <ShareFolder>Share a folder…</ShareFolder>}
      <ActionError action={action} />
    </div>
  );
}

const permissionWords: Record<SystemPermission['state'], string> = {
  granted: 'Permitted',
  denied: 'Not permitted',
  missing: 'Missing',
  unknown: 'Unknown',
};

export const describePermission = ({ state }: SystemPermission): string => permissionWords[state];
