import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useAction } from '../../../app/api.ts';
import { useWords } from '../../../app/language.tsx';
import { reread } from '../../../app/live-updates.tsx';
import { useTenantId } from '../../../app/session.tsx';
import { fieldErrors } from '../../../forms/field-errors.ts';
import { Confirm } from '../../../ui/dialog.tsx';
import { NumberField } from '../parts/controls.tsx';
import { SecretOnce } from '../parts/secret-once.tsx';
import type { Webhook } from './webhook.ts';

/** Replaces the secret; the old one signs too for some hours. */
export function RotateSecret({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const { settings } = useWords();
  const words = settings.webhooks;
  const tenantId = useTenantId();
  const cache = useQueryClient();
  const [hours, setHours] = useState<number | null>(24);
  const rotate = useAction('rotateWebhookSecret', { onDone: () => reread(cache, ['getWebhook', 'listWebhooks']) });
  if (rotate.data !== undefined)
    return (
      <SecretOnce title={words.rotatedTitle} label={words.secret} secret={rotate.data.secret} onClose={onClose}>
        <p className="mt-3 text-text-muted">{words.secretText}</p>
      </SecretOnce>
    );
  return (
    <Confirm
      title={words.rotateTitle}
      confirm={words.rotate}
      isDangerous={false}
      action={rotate}
      onConfirm={() =>
        rotate.start({
          params: { tenantId, id: webhook.id },
          body: hours === null ? {} : { overlapHours: hours },
        })
      }
      onClose={onClose}
    >
      <NumberField
        label={words.overlap}
        hint={words.overlapHint}
        min={0}
        max={168}
        value={hours}
        error={fieldErrors(rotate.error)('overlapHours')}
        onChange={setHours}
      />
    </Confirm>
  );
}
