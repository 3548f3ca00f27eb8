import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useAction } from '../../../app/api.ts';
import { useLanguage } from '../../../app/language.tsx';
import { reread } from '../../../app/live-updates.tsx';
import { useTenantId } from '../../../app/session.tsx';
import { fieldErrors } from '../../../forms/field-errors.ts';
import { Confirm } from '../../../ui/dialog.tsx';
import { showToast } from '../../../ui/toasts.tsx';
import { ChoiceField, TextField } from '../parts/controls.tsx';
import { instantOf, localInputOf } from '../parts/local-time.ts';
import { deliveryStatuses } from './delivery-status.tsx';
import type { Delivery } from './delivery-status.tsx';
import type { Webhook } from './webhook.ts';

const dayMs = 24 * 60 * 60 * 1000;

/** Sends the deliveries of a period again. */
export function ReplayDialog({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const { words, format } = useLanguage();
  const { settings } = words;
  const text = settings.webhooks;
  const tenantId = useTenantId();
  const cache = useQueryClient();
  const [since, setSince] = useState(() => localInputOf(new Date(Date.now() - dayMs)));
  const [until, setUntil] = useState('');
  const [status, setStatus] = useState<Delivery['status'] | 'unsuccessful'>('unsuccessful');
  const replay = useAction('replayWebhook', {
    onDone: ({ replayed }) => {
      reread(cache, ['listWebhookDeliveries']);
      showToast(format(text.replayed, { count: replayed }));
      onClose();
    },
  });
  const errorOf = fieldErrors(replay.error);
  return (
    <Confirm
      title={text.replayTitle}
      confirm={text.replay}
      isDangerous={false}
      action={replay}
      onConfirm={() => {
        const end = instantOf(until);
        replay.start({
          params: { tenantId, id: webhook.id },
          body: {
            since: instantOf(since) ?? '',
            ...(end === undefined ? {} : { until: end }),
            ...(status === 'unsuccessful' ? {} : { status }),
          },
        });
      }}
      onClose={onClose}
    >
      <p className="mb-3">{text.replayText}</p>
      <TextField label={text.since} type="datetime-local" value={since} error={errorOf('since')} onChange={setSince} />
      <TextField
        label={text.until}
        hint={text.untilHint}
        isOptional
        type="datetime-local"
        value={until}
        error={errorOf('until')}
        onChange={setUntil}
      />
      <ChoiceField
        label={text.filterStatus}
        value={status}
        choices={[
          ['unsuccessful', text.unsuccessful],
          ...deliveryStatuses.map((each) => [each, text.status[each]] as const),
        ]}
        error={errorOf('status')}
        onChange={setStatus}
      />
    </Confirm>
  );
}
