import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { visibleLine } from '../../../../../../shared/visible-text.ts';
import { keyOf, query, useAction } from '../../../app/api.ts';
import { useLanguage } from '../../../app/language.tsx';
import { reread } from '../../../app/live-updates.tsx';
import { useTenantId } from '../../../app/session.tsx';
import { Button } from '../../../ui/button.tsx';
import { Confirm } from '../../../ui/dialog.tsx';
import { Section } from '../../../ui/layout.tsx';
import { RelativeTime } from '../../../ui/time.tsx';
import { showToast } from '../../../ui/toasts.tsx';
import { SwitchRow } from '../parts/controls.tsx';
import { EditForm } from '../parts/edit-form.tsx';
import { useEdits } from '../parts/use-edits.ts';
import { RotateSecret } from './rotate-secret.tsx';
import { WebhookFields } from './webhook-fields.tsx';
import type { Webhook } from './webhook.ts';

const valueOf = ({ url, description, events, active }: Webhook) => ({ url, description, events, active });

export function WebhookSettings({ webhook }: { webhook: Webhook }) {
  const { words, format } = useLanguage();
  const { settings } = words;
  const text = settings.webhooks;
  const tenantId = useTenantId();
  const cache = useQueryClient();
  const navigate = useNavigate();
  const [isRotating, setRotating] = useState(false);
  const [isDeleting, setDeleting] = useState(false);
  const input = { params: { tenantId, id: webhook.id } };
  const update = useAction('updateWebhook', {
    onDone: (answer) => {
      cache.setQueryData(keyOf('getWebhook', input), answer);
      reread(cache, ['listWebhooks']);
    },
  });
  const remove = useAction('deleteWebhook', {
    onDone: async () => {
      reread(cache, ['listWebhooks']);
      showToast(text.deleted);
      await navigate({ to: '/settings/{-$section}', params: { section: 'webhooks' } });
    },
  });
  const edits = useEdits({
    current: valueOf(webhook),
    reload: async () => valueOf(await cache.fetchQuery({ ...query('getWebhook', input), staleTime: 0 })),
    save: (_value, changes) => update.run({ ...input, body: changes }),
  });
  return (
    <div className="flex max-w-3xl flex-col gap-4">
      <EditForm
        edits={edits}
        labels={{ url: text.url, description: text.description, events: text.events, active: text.active }}
        canEdit
      >
        <Section title={text.what}>
          <SwitchRow
            label={text.active}
            hint={text.activeHint}
            isOn={edits.value.active}
            onChange={(active) => edits.set({ active })}
          />
          <WebhookFields value={edits.value} set={edits.set} errorOf={edits.errorOf} />
        </Section>
      </EditForm>
      <Section title={text.secret} actions={<Button onClick={() => setRotating(true)}>{text.rotate}</Button>}>
        <p className="text-text-muted">
          <code>…{visibleLine(webhook.secretHint)}</code> · {text.changed} <RelativeTime at={webhook.updatedAt} />
        </p>
      </Section>
      <Section
        title={text.delete}
        actions={
          <Button variant="danger" onClick={() => setDeleting(true)}>
            {text.delete}
          </Button>
        }
      >
        <p className="text-text-muted">{text.deleteText}</p>
      </Section>
      {isRotating && <RotateSecret webhook={webhook} onClose={() => setRotating(false)} />}
      {isDeleting && (
        <Confirm
          title={format(text.deleteTitle, { url: visibleLine(webhook.url) })}
          confirm={text.delete}
          action={remove}
          onConfirm={() => remove.start(input)}
          onClose={() => setDeleting(false)}
        >
          {text.deleteText}
        </Confirm>
      )}
    </div>
  );
}
