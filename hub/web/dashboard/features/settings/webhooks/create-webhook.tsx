import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useAction } from '../../../app/api.ts';
import { useWords } from '../../../app/language.tsx';
import { reread } from '../../../app/live-updates.tsx';
import { useTenantId } from '../../../app/session.tsx';
import { fieldErrors } from '../../../forms/field-errors.ts';
import { FormError } from '../../../forms/form-error.tsx';
import { Button } from '../../../ui/button.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { ChoiceField } from '../parts/controls.tsx';
import { SecretOnce } from '../parts/secret-once.tsx';
import { WebhookFields } from './webhook-fields.tsx';
import type { WebhookValue } from './webhook-fields.tsx';

export function CreateWebhook({ onClose }: { onClose: () => void }) {
  const { common, settings } = useWords();
  const words = settings.webhooks;
  const tenantId = useTenantId();
  const cache = useQueryClient();
  const [value, setValue] = useState<WebhookValue>({ url: '', description: '', events: ['message.created'] });
  const [environment, setEnvironment] = useState<'live' | 'test'>('live');
  const create = useAction('createWebhook', { onDone: () => reread(cache, ['listWebhooks']) });
  const errorOf = fieldErrors(create.error);
  if (create.data !== undefined)
    return (
      <SecretOnce title={words.createdTitle} label={words.secret} secret={create.data.secret} onClose={onClose}>
        <p className="mt-3 text-text-muted">{words.secretText}</p>
      </SecretOnce>
    );
  return (
    <Dialog title={words.create} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          create.start({ params: { tenantId }, body: { ...value, environment } });
        }}
      >
        <WebhookFields value={value} set={(changes) => setValue({ ...value, ...changes })} errorOf={errorOf} />
        <ChoiceField
          label={words.environment}
          hint={words.environmentHint}
          value={environment}
          choices={[
            ['live', common.live],
            ['test', common.test],
          ]}
          error={errorOf('environment')}
          onChange={setEnvironment}
        />
        <FormError error={create.error} fields={['url', 'events', 'description', 'environment']} />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button variant="primary" type="submit" isBusy={create.isPending} disabled={value.events.length === 0}>
            {words.create}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
