import { useState } from 'react';
import { useAction, useCompanionState, useStore } from '../companion-context.tsx';
import { isExposed, useConsents } from '../connect-form.tsx';
import { ActionError, Button, Field, Line } from '../controls.tsx';

/** What is wrong with an address that was typed; null when nothing is, or nothing was typed. */
function addressProblem(typed: string): string | null {
  if (typed === '') return null;
  if (!/^https?:\/\//i.test(typed)) return 'Begin with https://, as in https://hub.example.org.';
  return URL.canParse(typed) ? null : 'This is no address; it looks like https://hub.example.org.';
}

/** The same of a code. */
const codeProblem = (typed: string): string | null =>
  typed === '' || /^[0-9a-z]{8}$/i.test(typed.replaceAll(/[\s-]/g, ''))
    ? null
    : 'A code has 8 letters and digits, such as ABCD-EFGH.';

/** Pairs this machine by a code that a person types. */
export function PairingPage() {
  const store = useStore();
  const keyStore = useCompanionState((state) => state.keyStore);
  const action = useAction();
  const [hub, setHub] = useState('');
  const [code, setCode] = useState('');
  const [name, setName] = useState('');
  // Nobody is told that an address is wrong while they are still typing it.
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
          At the hub, somebody adds a node and gets a code that holds for 10 minutes. Pairing alone allows nothing: you
          decide under Permissions what the hub may do.
        </p>
      </div>
      <form
        className="card form"
        onSubmit={(event) => {
          event.preventDefault();
          setChecked({ hub: true, code: true });
          if (isReady && problems.hub === null && problems.code === null) void pair();
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
          hint="How the hub calls it, unless somebody named it there. Its host name when left empty."
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
          <Button type="submit" variant="main" size="big" disabled={!isReady}>
            {action.isBusy ? 'Pairing…' : 'Pair'}
          </Button>
        </div>
      </form>
    </div>
  );
}
