import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { visibleLine } from '../../../../../../shared/visible-text.ts';
import { keyOf, query, useAction } from '../../../app/api.ts';
import { useLanguage } from '../../../app/language.tsx';
import { reread } from '../../../app/live-updates.tsx';
import { Button } from '../../../ui/button.tsx';
import { Confirm } from '../../../ui/dialog.tsx';
import { Facts, Section, TextLink } from '../../../ui/layout.tsx';
import { Loaded } from '../../../ui/loaded.tsx';
import { Pill } from '../../../ui/status.tsx';
import { RelativeTime } from '../../../ui/time.tsx';
import { showToast } from '../../../ui/toasts.tsx';
import { CodeBlock } from '../../../ui/value.tsx';
import { TextField } from '../parts/controls.tsx';
import { EditForm } from '../parts/edit-form.tsx';
import { useEdits } from '../parts/use-edits.ts';
import type { Connection } from './carriers.ts';
import { RotateConnection } from './rotate-connection.tsx';

const valueOf = ({ name, accountSid }: Connection) => ({ name, accountSid: accountSid ?? '' });

function ConnectionForm({ connection }: { connection: Connection }) {
  const words = useLanguage().words.settings.carriers;
  const cache = useQueryClient();
  const input = { params: { id: connection.id } };
  const update = useAction('updateCallConnection');
  const edits = useEdits({
    current: valueOf(connection),
    reload: async () => valueOf(await cache.fetchQuery({ ...query('getCallConnection', input), staleTime: 0 })),
    save: async (_value, { name, accountSid }) => {
      const answer = await update.run({
        ...input,
        body: {
          ...(name === undefined ? {} : { name }),
          ...(accountSid === undefined ? {} : { accountSid: accountSid.trim() === '' ? null : accountSid.trim() }),
        },
      });
      cache.setQueryData(keyOf('getCallConnection', input), answer);
      reread(cache, ['listCallConnections']);
    },
  });
  return (
    <Section title={words.connection}>
      <EditForm edits={edits} labels={{ name: words.name, accountSid: words.accountSid }} canEdit isInCard>
        <TextField
          label={words.name}
          required
          maxLength={200}
          value={edits.value.name}
          error={edits.errorOf('name')}
          onChange={(name) => edits.set({ name })}
        />
        {connection.provider === 'twilio' && (
          <TextField
            label={words.accountSid}
            hint={words.accountSidHint}
            isOptional
            autoComplete="off"
            value={edits.value.accountSid}
            error={edits.errorOf('accountSid')}
            onChange={(accountSid) => edits.set({ accountSid })}
          />
        )}
      </EditForm>
    </Section>
  );
}

function DeleteConnection({ connection, onClose }: { connection: Connection; onClose: () => void }) {
  const { words, format } = useLanguage();
  const text = words.settings.carriers;
  const cache = useQueryClient();
  const navigate = useNavigate();
  const remove = useAction('deleteCallConnection', {
    onDone: async () => {
      reread(cache, ['listCallConnections']);
      showToast(text.deleted);
      await navigate({ to: '/settings/{-$section}', params: { section: 'carriers' } });
    },
  });
  return (
    <Confirm
      title={format(text.deleteTitle, { name: visibleLine(connection.name) })}
      confirm={text.delete}
      action={remove}
      onConfirm={() => remove.start({ params: { id: connection.id } })}
      onClose={onClose}
    >
      {text.deleteText}
    </Confirm>
  );
}

export function ConnectionDetail({ id }: { id: string }) {
  const words = useLanguage().words.settings.carriers;
  const connection = useQuery(query('getCallConnection', { params: { id } }));
  const [open, setOpen] = useState<'rotate' | 'delete' | null>(null);
  const close = () => setOpen(null);
  return (
    <>
      <p className="mb-1 text-sm">
        <TextLink to="/settings/{-$section}" params={{ section: 'carriers' }}>
          {words.all}
        </TextLink>
      </p>
      <Loaded of={connection}>
        {(data) => (
          <>
            <div className="mb-3 flex flex-wrap items-center gap-2">
              <h2 className="min-w-0 text-lg wrap-anywhere">{visibleLine(data.name)}</h2>
              <Pill tone="neutral">{words.carriers[data.provider]}</Pill>
            </div>
            <div className="flex max-w-3xl flex-col gap-4">
              <Section title={words.connect}>
                <p className="mb-2 text-text-muted">{words.connectTexts[data.provider]}</p>
                <CodeBlock text={data.url} label={words.url} />
                <div className="mt-3">
                  <Facts
                    rows={[
                      [
                        words.lastEvent,
                        data.lastEventAt === null ? words.noEvent : <RelativeTime at={data.lastEventAt} />,
                      ],
                      ...(data.reconciledAt === null
                        ? []
                        : [[words.reconciled, <RelativeTime at={data.reconciledAt} />] as const]),
                    ]}
                  />
                </div>
              </Section>
              <ConnectionForm connection={data} />
              <div className="flex flex-wrap gap-2">
                <Button onClick={() => setOpen('rotate')}>{words.rotate}</Button>
                <Button variant="danger" onClick={() => setOpen('delete')}>
                  {words.delete}
                </Button>
              </div>
            </div>
            {open === 'rotate' && <RotateConnection connection={data} onClose={close} />}
            {open === 'delete' && <DeleteConnection connection={data} onClose={close} />}
          </>
        )}
      </Loaded>
    </>
  );
}
