import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useAction } from '../../../app/api.ts';
import { useWords } from '../../../app/language.tsx';
import { reread } from '../../../app/live-updates.tsx';
import { fieldErrors } from '../../../forms/field-errors.ts';
import { Button } from '../../../ui/button.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { ErrorNote } from '../../../ui/error.tsx';
import { ChoiceField, TextField } from '../parts/controls.tsx';
import { SecretOnce } from '../parts/secret-once.tsx';
import { useSettingsSearch } from '../use-settings-search.ts';
import { carriers, signingField } from './carriers.ts';
import type { Carrier } from './carriers.ts';
import { SigningField } from './signing-field.tsx';

export function CreateConnection({ onClose }: { onClose: () => void }) {
  const { common, settings } = useWords();
  const words = settings.carriers;
  const cache = useQueryClient();
  const [, change] = useSettingsSearch();
  const [provider, setProvider] = useState<Carrier>('twilio');
  const [name, setName] = useState('');
  const [signing, setSigning] = useState('');
  const [accountSid, setAccountSid] = useState('');
  const create = useAction('createCallConnection', {
    onDone: ({ id, secret }) => {
      reread(cache, ['listCallConnections']);
      if (secret === undefined) change({ id });
    },
  });
  const errorOf = fieldErrors(create.error);
  const { data } = create;
  if (data?.secret !== undefined)
    return (
      <SecretOnce
        title={words.createdTitle}
        label={words.secret}
        secret={data.secret}
        onClose={() => change({ id: data.id })}
      >
        <p className="mt-3 text-text-muted">{words.secretText}</p>
      </SecretOnce>
    );
  const field = signingField[provider];
  return (
    <Dialog title={words.create} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          create.start({
            body: {
              provider,
              name,
              ...(field === null ? {} : { [field]: signing.trim() }),
              ...(provider === 'twilio' && accountSid !== '' ? { accountSid: accountSid.trim() } : {}),
            },
          });
        }}
      >
        <ChoiceField
          label={words.carrier}
          hint={words.carrierTexts[provider]}
          value={provider}
          choices={carriers.map((each) => [each, words.carriers[each]] as const)}
          error={errorOf('provider')}
          onChange={(next) => {
            setProvider(next);
            setSigning('');
          }}
        />
        <TextField
          label={words.name}
          required
          maxLength={200}
          value={name}
          error={errorOf('name')}
          onChange={setName}
        />
        <SigningField provider={provider} value={signing} errorOf={errorOf} onChange={setSigning} />
        {provider === 'twilio' && (
          <TextField
            label={words.accountSid}
            hint={words.accountSidHint}
            isOptional
            autoComplete="off"
            value={accountSid}
            error={errorOf('accountSid')}
            onChange={setAccountSid}
          />
        )}
        <ErrorNote error={create.error} />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button variant="primary" type="submit" isBusy={create.isPending}>
            {words.create}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
