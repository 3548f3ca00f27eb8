import { useState } from 'react';
import { useAction, useCompanionState, useStore } from '../companion-context.tsx';
import { isExposed, useConsents } from '../connect-form.tsx';
import { ActionError, Button, Field, Line } from '../controls.tsx';

/** What is wrong with the typed address. Null if it is valid or empty. */
function addressProblem(typed: string): string | null {
  if (typed === '') return null;
  if (!/^https?:\/\//i.test(typed)) return 'Start with https://, as in https://hub.example.org.';
  return URL.canParse(typed) ? null : 'This is not an address. An address looks like https://hub.example.org.';
}

/** What is wrong with the typed code. Null if it is valid or empty. */
const codeProblem = (typed: string): string | null =>
  typed === '' || /^[0-9a-z]{8}$/i.test(typed.replaceAll(/[\s-]/g, ''))
    ? null
    : 'A code has 8 letters and digits, such as ABCD-EFGH.';

/** Pairs this machine with a code that the owner types. */
export function PairingPage() {
  const store = useStore();
  const keyStore = useCompanionState((state) => state.keyStore);
  const action = useAction();
  const [hub, setHub] = useState('');
  const [code, setCode] = useState('');
  const [name, setName] = useState('');
  // Problems are shown only after the field was left, not while the owner is typing.
  const [checked, setChecked] = useState({ hub: false, code: false });
  const address = hub.trim();
  const consents = useConsents(isExposed(address));
  const problems = { hub: addressProblem(address), code: codeProblem(code.trim()) };
  const isReady = address !== '' && code.trim() !== '' && consents.isComplete && !action.isBusy;
  const pair = () =>
    action.run(async () => {
      const nameOption = name.trim() === '' ? {} : { name: name.trim() };
      store.setState(await store.call('pair', { hub: address, code: code.trim(), ...nameOption, ...consents.given }));
    });
  return (
    <div className="pairing">
      <div className="page-head">
        <h1>Pair this machine</h1>
        <p>
          Add a node at the hub to get a code. The code is valid for 10 minutes. Pairing alone allows nothing: you
          decide under Permissions what the hub may do.
        </p>
      </div>
      <form
        className="card form"
        onSubmit={(event) => {
          event.preventDefault();
          setChecked({ hub: true, code: true });
          if (isReady && problems.hub === null && problems.code === null) pair();
        }}
      >
        <Field
          label="Address of the hub"
          placeholder="https://hub.example.org"
          inputMode="url"
          value={hub}
          problem={checked.hub ? problems.hub : null}
          onBlur={() => setChecked({ ...checked, hub: true })}
          onChange={(event) => setHub(event.target.value)}
        />
        <Field
          label="Pairing code"
          placeholder="ABCD-EFGH"
          className="input code-input"
          value={code}
          maxLength={50}
          problem={checked.code ? problems.code : null}
          onBlur={() => setChecked({ ...checked, code: true })}
          onChange={(event) => setCode(event.target.value)}
        />
        <Field
          label="Name of this machine (optional)"
          hint="The hub shows this name unless the node was named there. If empty, the host name is used."
          value={name}
          maxLength={200}
          onChange={(event) => setName(event.target.value)}
        />
        {consents.questions}
        {keyStore.name !== null && (
          <p className="hint">
            The secret of this machine will be stored in <Line text={keyStore.name} />.
          </p>
        )}
        <ActionError action={action} title="This machine was not paired" />
        <div className="form-end">
          <Button type="submit" variant="main" size="big" disabled={!isReady}>
            {action.isBusy ? 'Pairing…' : 'Pair'}
          </Button>
        </div>
      </form>
    </div>
  );
}
