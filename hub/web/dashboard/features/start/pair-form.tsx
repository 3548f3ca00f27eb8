import { useState } from 'react';
import type { Answer } from '../../app/api.ts';
import { useAction } from '../../app/api.ts';
import { useWords } from '../../app/language.tsx';
import { useIsAdmin } from '../../app/session.tsx';
import { Button } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { Field, Input } from '../../ui/form.tsx';
import { pairingPowers } from './pairing-command.ts';
import type { PairingPower } from './pairing-command.ts';

/** A code that connects one machine, and what its owner allows with it. */
export interface Pairing extends Answer<'createAutomationNode'> {
  powers: readonly PairingPower[];
}

const maxNameCharacters = 200;

/** Asks for the name of a machine and what workflows may do there, and creates its code. */
export function PairForm({ onCreated }: { onCreated: (pairing: Pairing) => void }) {
  const texts = useWords().start;
  const isAdmin = useIsAdmin();
  const [name, setName] = useState('');
  const [powers, setPowers] = useState<readonly PairingPower[]>([]);
  const create = useAction('createAutomationNode', { onDone: (created) => onCreated({ ...created, powers }) });
  if (!isAdmin) return <p className="text-text-muted">{texts.adminOnly}</p>;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        create.start({
          body: {
            ...(name.trim() === '' ? {} : { name: name.trim() }),
            allowSystem: powers.includes('system'),
            allowBrowser: powers.includes('browser'),
          },
        });
      }}
    >
      <p className="mb-3 text-text-muted">{texts.pairIntro}</p>
      <Field label={texts.name} hint={texts.nameHint} isOptional>
        {(attributes) => (
          <Input
            {...attributes}
            value={name}
            maxLength={maxNameCharacters}
            autoComplete="off"
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <fieldset className="mb-3">
        <legend className="mb-1 text-sm font-semibold">{texts.powers}</legend>
        {pairingPowers.map((power) => (
          <label key={power} className="flex items-center gap-2 py-1">
            <input
              type="checkbox"
              className="size-4 accent-(--color-accent)"
              checked={powers.includes(power)}
              onChange={({ target: { checked } }) =>
                setPowers(checked ? [...powers, power] : powers.filter((other) => other !== power))
              }
            />
            {texts[power]}
          </label>
        ))}
        <p className="mt-1 text-sm text-text-muted">{texts.powersHint}</p>
      </fieldset>
      <ErrorNote error={create.error} />
      <Button type="submit" variant="primary" isBusy={create.isPending}>
        {texts.createCode}
      </Button>
    </form>
  );
}
