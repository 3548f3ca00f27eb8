import { useState } from 'react';
import { useAction, useCompanionState, useStore } from '../companion-context.tsx';
import { isExposed, useConsents } from '../connect-form.tsx';
import { ActionError, Button, Field, Line } from '../controls.tsx';

/** An address as it is meant: https where nothing is said. */
const withProtocol = (typed: string) => (typed === '' || typed.includes('://') ? typed : `https://${typed}`);

/** Pairs this machine by a code that a person types. */
export function PairingPage() {
  const store = useStore();
  const { keyStore } = useCompanionState();
  const action = useAction();
  const [hub, setHub] = useState('');
  const [code, setCode] = useState('');
  const [name, setName] = useState('');
  const address = withProtocol(hub.trim());
  const consents = useConsents(isExposed(address));
  const isReady = address !== '' && code.trim() !== '' && consents.isComplete && !action.isBusy;
  const pair = () =>
    action.run(async () => {
      const known = name.trim() === '' ? {} : { name: name.trim() };
      store.setState(await store.call('pair', { hub: address, code: code.trim(), ...known, ...consents.given }));
    });
  return (
    <div className="pairing">
      <div className="page-head">
        <h1>Pair this machine</h1>
        <p>
          At the hub, somebody adds a node and gets a code that holds for 10 minutes. Pairing alone allows nothing: you
          decide under Permissions what the hub may do.
        </p>
      </div>
      <form
        className="card form"
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady) void pair();
        }}
      >
        <Field
          label="Address of the hub"
          placeholder="https://hub.example.org"
          inputMode="url"
          value={hub}
          onChange={(event) => setHub(event.target.value)}
        />
        <Field
          label="Pairing code"
          placeholder="ABCD-EFGH"
          className="input code-input"
          value={code}
          maxLength={50}
          onChange={(event) => setCode(event.target.value)}
        />
        <Field
          label="Name of this machine (optional)"
          hint="How the hub calls it; its host name when left empty."
          value={name}
          maxLength={200}
          onChange={(event) => setName(event.target.value)}
        />
        {consents.questions}
        {keyStore.name !== null && (
          <p className="hint">
            The secret of this machine will be kept in <Line text={keyStore.name} />.
          </p>
        )}
        <ActionError action={action} title="This machine was not paired" />
        <div className="form-end">
          <Button type="submit" look="main" size="big" disabled={!isReady}>
            {action.isBusy ? 'Pairing…' : 'Pair'}
          </Button>
        </div>
      </form>
    </div>
  );
}
