import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useAction } from '../../../app/api.ts';
import { useWords } from '../../../app/language.tsx';
import { reread } from '../../../app/live-updates.tsx';
import { fieldErrors } from '../../../forms/field-errors.ts';
import { Button } from '../../../ui/button.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { ErrorNote } from '../../../ui/error.tsx';
import { CheckRow, ChoiceField, TextField } from '../parts/controls.tsx';
import { randomSecret } from '../parts/random-secret.ts';
import { useSettingsSearch } from '../use-settings-search.ts';
import { ChannelFields } from './channel-fields.tsx';
import { configFields, filled, providers } from './providers.ts';
import type { Config, Provider } from './providers.ts';

const newConfig = (provider: Provider): Config =>
  Object.fromEntries(
    configFields[provider].flatMap(({ name, isOwn }) => (isOwn === true ? [[name, randomSecret()]] : [])),
  );

export function CreateChannel({ onClose }: { onClose: () => void }) {
  const { common, settings } = useWords();
  const words = settings.channels;
  const cache = useQueryClient();
  const [, change] = useSettingsSearch();
  const [provider, setProvider] = useState<Provider>('telegram');
  const [name, setName] = useState('');
  const [config, setConfig] = useState<Config>(() => newConfig('telegram'));
  const [conversations, setConversations] = useState(false);
  const put = useAction('putAutomationChannel', {
    onDone: (channel) => {
      reread(cache, ['listAutomationChannels']);
      change({ id: channel.id });
    },
  });
  const errorOf = fieldErrors(put.error);
  return (
    <Dialog title={words.create} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          put.start({ body: { provider, name, config: filled(config), conversations } });
        }}
      >
        <ChoiceField
          label={words.provider}
          hint={words.providerTexts[provider]}
          value={provider}
          choices={providers.map((each) => [each, words.providers[each]] as const)}
          error={errorOf('provider')}
          onChange={(next) => {
            setProvider(next);
            setConfig(newConfig(next));
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
        <ChannelFields provider={provider} config={config} set={setConfig} secretsSet={[]} errorOf={errorOf} />
        <CheckRow
          label={words.conversations}
          hint={words.conversationsHint}
          isChecked={conversations}
          onChange={setConversations}
        />
        <ErrorNote error={put.error} />
        <div className="mt-3 flex justify-end gap-2">
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button variant="primary" type="submit" isBusy={put.isPending}>
            {words.create}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
