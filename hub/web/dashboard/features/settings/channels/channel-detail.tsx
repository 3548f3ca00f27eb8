import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { visibleLine } from '../../../../../../shared/visible-text.ts';
import { keyOf, query, useAction } from '../../../app/api.ts';
import { useLanguage } from '../../../app/language.tsx';
import { reread } from '../../../app/live-updates.tsx';
import { useIsAdmin } from '../../../app/session.tsx';
import { Button } from '../../../ui/button.tsx';
import { Confirm } from '../../../ui/dialog.tsx';
import { Section, TextLink } from '../../../ui/layout.tsx';
import { Loaded } from '../../../ui/loaded.tsx';
import { Pill, StatusPill } from '../../../ui/status.tsx';
import { showToast } from '../../../ui/toasts.tsx';
import { SwitchRow, TextField } from '../parts/controls.tsx';
import { EditForm } from '../parts/edit-form.tsx';
import { useEdits } from '../parts/use-edits.ts';
import { ChannelFields } from './channel-fields.tsx';
import { ConnectSteps } from './connect-steps.tsx';
import { configFields, filled } from './providers.ts';
import type { Channel, Config } from './providers.ts';

const valueOf = ({ name, active, conversations, provider, config }: Channel) => ({
  name,
  active,
  conversations,
  config: Object.fromEntries(
    configFields[provider].map((field) => {
      const value = config[field.name];
      return [field.name, typeof value === 'string' ? value : ''];
    }),
  ) as Config,
});

function ChannelForm({ channel }: { channel: Channel }) {
  const { settings } = useLanguage().words;
  const words = settings.channels;
  const isAdmin = useIsAdmin();
  const cache = useQueryClient();
  const input = { params: { id: channel.id } };
  const put = useAction('putAutomationChannel', {
    onDone: (answer) => {
      cache.setQueryData(keyOf('getAutomationChannel', input), answer);
      reread(cache, ['listAutomationChannels']);
    },
  });
  let { version } = channel;
  const edits = useEdits({
    current: valueOf(channel),
    reload: async () => {
      const fresh = await cache.fetchQuery({ ...query('getAutomationChannel', input), staleTime: 0 });
      version = fresh.version;
      return valueOf(fresh);
    },
    save: ({ name }, { config, ...changes }) =>
      put.run(
        {
          body: {
            id: channel.id,
            provider: channel.provider,
            name,
            ...changes,
            ...(config === undefined ? {} : { config: filled(config) }),
          },
        },
        version,
      ),
  });
  return (
    <EditForm
      edits={edits}
      labels={{
        name: words.name,
        active: words.active,
        conversations: words.conversations,
        config: words.configuration,
      }}
      canEdit={isAdmin}
    >
      <Section title={words.configuration}>
        <SwitchRow
          label={words.active}
          hint={words.activeHint}
          isOn={edits.value.active}
          isDisabled={!isAdmin}
          onChange={(active) => edits.set({ active })}
        />
        <SwitchRow
          label={words.conversations}
          hint={words.conversationsHint}
          isOn={edits.value.conversations}
          isDisabled={!isAdmin}
          error={edits.errorOf('conversations')}
          onChange={(conversations) => edits.set({ conversations })}
        />
        <TextField
          label={words.name}
          required
          maxLength={200}
          value={edits.value.name}
          error={edits.errorOf('name')}
          onChange={(name) => edits.set({ name })}
        />
        <ChannelFields
          provider={channel.provider}
          config={edits.value.config}
          set={(config) => edits.set({ config })}
          secretsSet={channel.secretsSet}
          errorOf={edits.errorOf}
        />
      </Section>
    </EditForm>
  );
}

function DeleteChannel({ channel }: { channel: Channel }) {
  const { words, format } = useLanguage();
  const { settings } = words;
  const text = settings.channels;
  const cache = useQueryClient();
  const navigate = useNavigate();
  const [isAsking, setAsking] = useState(false);
  const remove = useAction('deleteAutomationChannel', {
    onDone: async () => {
      reread(cache, ['listAutomationChannels']);
      showToast(text.deleted);
      await navigate({ to: '/settings/{-$section}', params: { section: 'channels' } });
    },
  });
  return (
    <Section
      title={text.delete}
      actions={
        <Button variant="danger" onClick={() => setAsking(true)}>
          {text.delete}
        </Button>
      }
    >
      <p className="text-text-muted">{text.deleteText}</p>
      {isAsking && (
        <Confirm
          title={format(text.deleteTitle, { name: visibleLine(channel.name) })}
          confirm={text.delete}
          action={remove}
          onConfirm={() => remove.start({ params: { id: channel.id } })}
          onClose={() => setAsking(false)}
        >
          {text.deleteText}
        </Confirm>
      )}
    </Section>
  );
}

export function ChannelDetail({ id }: { id: string }) {
  const { settings } = useLanguage().words;
  const words = settings.channels;
  const isAdmin = useIsAdmin();
  const channel = useQuery(query('getAutomationChannel', { params: { id } }));
  return (
    <>
      <p className="mb-1 text-sm">
        <TextLink to="/settings/{-$section}" params={{ section: 'channels' }}>
          {words.all}
        </TextLink>
      </p>
      <Loaded of={channel}>
        {(data) => (
          <>
            <div className="mb-3 flex flex-wrap items-center gap-2">
              <h2 className="min-w-0 text-lg wrap-anywhere">{visibleLine(data.name)}</h2>
              <Pill tone="neutral">{words.providers[data.provider]}</Pill>
              <StatusPill status={data.active ? 'active' : 'inactive'} />
            </div>
            <div className="flex max-w-3xl flex-col gap-4">
              <ConnectSteps channel={data} />
              <ChannelForm channel={data} />
              {isAdmin && <DeleteChannel channel={data} />}
            </div>
          </>
        )}
      </Loaded>
    </>
  );
}
