import { useState } from 'react';
import type { CompanionState, OwnFile } from '../../shared/companion/state.ts';
import { useAction, useStore } from './companion-context.tsx';
import { ActionError, Button, Line, Notice } from './controls.tsx';
import { Decision } from './modal.tsx';

interface FileWords {
  title: string;
  /** The effect until the file is repaired. */
  meanwhile: string;
  question: string;
  /** The effect of starting over. */
  after: string;
}

const words: Record<OwnFile, FileWords> = {
  settings: {
    title: "Your permissions can't be read",
    meanwhile: 'Nothing is allowed until the file is repaired. Repair the file, or start over with everything off.',
    question: 'Start over with everything off?',
    after:
      'Everything will be off, and your rules, shared folders and lists for the browser will be empty. Under Permissions you can switch on what the hub may do.',
  },
  identity: {
    title: "The pairing of this machine can't be read",
    meanwhile: 'No hub can reach this machine. Start over, then pair this machine again.',
    question: 'Forget this pairing?',
    after: 'This machine will not be paired, and you will need a new code. Revoke its old node at the hub.',
  },
};

/** Notice about a broken file of the companion, with a button that renames the file and starts over. */
export function BrokenFile({ broken: { file, path, detail } }: { broken: CompanionState['broken'][number] }) {
  const store = useStore();
  const action = useAction();
  const [isConfirming, setConfirming] = useState(false);
  const { title, meanwhile, question, after } = words[file];
  const setAside = () => action.run(async () => store.setState(await store.call('setAside', { file })));
  return (
    <Notice tone="bad" title={title} end={<Button onClick={() => setConfirming(true)}>Start over…</Button>}>
      <p>
        <code>
          <Line text={path} />
        </code>
      </p>
      <p>
        <Line text={detail} /> {meanwhile}
      </p>
      <Decision isOpen={isConfirming} title={question} onClose={() => setConfirming(false)}>
        <p>{after}</p>
        <p>The file stays in the same folder. It gets a new name that ends with the time.</p>
        <ActionError action={action} title="The file was not renamed" />
        <div className="popup-end">
          <Button size="big" disabled={action.isBusy} onClick={() => setConfirming(false)}>
            Cancel
          </Button>
          <Button variant="danger" size="big" disabled={action.isBusy} onClick={() => setAside()}>
            Start over
          </Button>
        </div>
      </Decision>
    </Notice>
  );
}
