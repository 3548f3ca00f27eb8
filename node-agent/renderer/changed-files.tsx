import { useState } from 'react';
import type { CompanionState } from '../../shared/companion/state.ts';
import { useAction, useStore } from './companion-context.tsx';
import { ActionError, Button, Line, Notice } from './controls.tsx';
import { Decision } from './modal.tsx';

/** Notice about settings that another program edited. Shows the differences; buttons accept or discard the edit. */
export function EditedSettings({ edited }: { edited: NonNullable<CompanionState['edited']> }) {
  const store = useStore();
  const action = useAction();
  const { needsConsent, detail, changes, hash, pairing } = edited;
  return (
    <Notice
      tone="warning"
      title="Your settings do not match the log"
      end={
        <>
          <Button
            disabled={action.isBusy}
            onClick={() =>
              action.run(() => store.change({ change: 'accept_settings', ...(hash === null ? {} : { seen: hash }) }))
            }
          >
            {needsConsent ? 'Accept these changes' : 'I have reviewed this'}
          </Button>
          {needsConsent && !pairing && (
            <Button
              disabled={action.isBusy}
              onClick={() => action.run(() => store.change({ change: 'discard_settings' }))}
            >
              Discard
            </Button>
          )}
        </>
      }
    >
      <p>
        <Line text={detail} />
      </p>
      {changes.length > 0 && (
        <ul className="changes" aria-label="What changed">
          {changes.map((change) => (
            <li key={change}>
              <code>
                <Line text={change} />
              </code>
            </li>
          ))}
        </ul>
      )}
      <ActionError action={action} title="Nothing was changed" />
    </Notice>
  );
}

/** Notice about a log that another program changed, with a button that starts a new log. */
export function ChangedLog({ problem }: { problem: string }) {
  const store = useStore();
  const action = useAction();
  const [isConfirming, setConfirming] = useState(false);
  const setAside = () =>
    action.run(
      async () => store.setState(await store.call('setAuditAside', {})),
      () => setConfirming(false),
    );
  return (
    <Notice
      tone="bad"
      title="The log was changed by another program"
      end={<Button onClick={() => setConfirming(true)}>Start a new log…</Button>}
    >
      <Line text={problem} />
      <Decision isOpen={isConfirming} title="Start a new log?" onClose={() => setConfirming(false)}>
        <p>The old log stays in the same folder, under another name. Activity will be empty.</p>
        <ActionError action={action} title="The log was not renamed" />
        <div className="popup-end">
          <Button size="big" disabled={action.isBusy} onClick={() => setConfirming(false)}>
            Cancel
          </Button>
          <Button variant="danger" size="big" disabled={action.isBusy} onClick={() => setAside()}>
            Start a new log
          </Button>
        </div>
      </Decision>
    </Notice>
  );
}
