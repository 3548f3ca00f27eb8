import type { Remedy, SystemPermission } from '../../shared/companion/state.ts';
import { useAction, useStore } from './companion-context.tsx';
import { ActionError, Button, Line, Lines } from './controls.tsx';
import { partNames } from './words.ts';

/** Asks for a folder by the system's own dialog and shares it; nothing happens when the owner chooses none. */
export function useShareFolder(): () => Promise<void> {
  const store = useStore();
  return async () => {
    const { path } = await store.call('app.chooseFolder', {});
    if (path !== null) await store.change({ change: 'share', path });
  };
}

/** What stands in the way of a power, and the one thing to click. */
export function RemedyLine({ remedy }: { remedy: Remedy }) {
  const store = useStore();
  const share = useShareFolder();
  const action = useAction();
  const { action: mend } = remedy;
  const part = mend?.kind === 'ask_system' ? partNames.find((name) => name === mend.power) : undefined;
  return (
    <div className="remedy">
      <p>
        <Lines text={remedy.text} />
      </p>
      {mend?.kind === 'open_settings' && (
        <Button
          size="small"
          onClick={() => void action.run(() => store.call('app.openSystemSettings', { pane: mend.pane }))}
        >
          Open system settings
        </Button>
      )}
      {mend?.kind === 'copy' && (
        <div className="command">
          <code>
            <Line text={mend.command} />
          </code>
          <Button size="small" onClick={() => void action.run(() => store.call('app.copy', { text: mend.command }))}>
            Copy
          </Button>
        </div>
      )}
      {part !== undefined && (
        <Button
          size="small"
          disabled={action.isBusy}
          onClick={() => void action.run(() => store.call('test', { parts: [part] }))}
        >
          Ask the system
        </Button>
      )}
      {mend?.kind === 'share_folder' && (
        <Button size="small" disabled={action.isBusy} onClick={() => void action.run(share)}>
          Share a folder…
        </Button>
      )}
      <ActionError action={action} />
    </div>
  );
}

const permissionWords: Record<SystemPermission['state'], string> = {
  granted: 'Permitted',
  denied: 'Not permitted',
  missing: 'Missing',
  unknown: 'Not known yet',
};

export const describePermission = ({ state }: SystemPermission): string => permissionWords[state];
