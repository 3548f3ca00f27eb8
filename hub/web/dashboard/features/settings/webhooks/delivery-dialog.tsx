import { useQuery, useQueryClient } from '@tanstack/react-query';
import { visibleLine } from '../../../../../../shared/visible-text.ts';
import { query, useAction } from '../../../app/api.ts';
import type { Answer } from '../../../app/api.ts';
import { useLanguage } from '../../../app/language.tsx';
import { reread } from '../../../app/live-updates.tsx';
import { useTenantId } from '../../../app/session.tsx';
import { Button } from '../../../ui/button.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { ErrorNote } from '../../../ui/error.tsx';
import { Facts } from '../../../ui/layout.tsx';
import { Loaded } from '../../../ui/loaded.tsx';
import { LocalTime, RelativeTime } from '../../../ui/time.tsx';
import { CodeBlock } from '../../../ui/value.tsx';
import { prettyJson } from '../parts/pretty-json.ts';
import { DeliveryStatus } from './delivery-status.tsx';
import type { Webhook } from './webhook.ts';

type Detail = Answer<'getWebhookDelivery'>;
const rereadMs = 2_000;

/** Whether an attempt is due or in progress. During an attempt after a failed one, there is no time of the next one. */
const isUnderWay = ({ status, nextAttemptAt }: Detail) =>
  status === 'pending' || (status === 'failed' && nextAttemptAt === null);

function Attempt({ attempt }: { attempt: Detail['history'][number] }) {
  const { words, format, duration } = useLanguage();
  const { settings } = words;
  return (
    <li className="rounded-(--radius-medium) border p-3">
      <p className="flex flex-wrap gap-x-3 gap-y-0.5">
        <span className="font-semibold">{format(settings.webhooks.attempt, { number: attempt.attempt })}</span>
        <span className={attempt.error === null ? 'text-success' : 'text-danger'}>
          {attempt.responseStatus ?? settings.webhooks.noResponse}
        </span>
        <span className="text-text-muted">{duration(attempt.responseMs)}</span>
        <span className="ms-auto text-text-muted">
          <LocalTime at={attempt.startedAt} />
        </span>
      </p>
      {attempt.error !== null && <p className="mt-1 wrap-anywhere text-danger">{visibleLine(attempt.error)}</p>}
      {attempt.response !== '' && (
        <div className="mt-2">
          <CodeBlock text={attempt.response} label={settings.webhooks.response} />
        </div>
      )}
    </li>
  );
}

/** A delivery with the request, each attempt and its response. */
export function DeliveryDialog({ webhook, id, onClose }: { webhook: Webhook; id: string; onClose: () => void }) {
  const { words, format } = useLanguage();
  const { settings } = words;
  const text = settings.webhooks;
  const tenantId = useTenantId();
  const cache = useQueryClient();
  const params = { tenantId, id: webhook.id, deliveryId: id };
  const delivery = useQuery({
    ...query('getWebhookDelivery', { params }),
    refetchInterval: ({ state: { data } }) => (data !== undefined && isUnderWay(data) ? rereadMs : false),
  });
  const redeliver = useAction('redeliverWebhookDelivery', {
    onDone: () => reread(cache, ['getWebhookDelivery', 'listWebhookDeliveries']),
  });
  return (
    <Dialog title={text.delivery} isWide onClose={onClose}>
      <Loaded of={delivery}>
        {(data) => (
          <div className="flex flex-col gap-4">
            <div className="flex flex-wrap items-start gap-3">
              <div className="min-w-0 flex-1">
                <Facts
                  rows={[
                    [text.event, <code>{data.event}</code>],
                    [text.eventId, <code>{visibleLine(data.eventId)}</code>],
                    [text.state, <DeliveryStatus status={data.status} />],
                    [text.created, <RelativeTime at={data.createdAt} />],
                    ...(data.nextAttemptAt === null
                      ? []
                      : [[text.nextAttempt, <RelativeTime at={data.nextAttemptAt} />] as const]),
                  ]}
                />
              </div>
              <Button isBusy={redeliver.isPending} onClick={() => redeliver.start({ params })}>
                {text.redeliver}
              </Button>
            </div>
            <ErrorNote error={redeliver.error} />
            <section>
              <h3 className="mb-1">{text.request}</h3>
              {data.body === '' ? (
                <p className="text-text-muted">{text.bodyErased}</p>
              ) : (
                <CodeBlock text={prettyJson(data.body)} label={text.request} />
              )}
            </section>
            <section>
              <h3 className="mb-1">{text.attempts}</h3>
              {data.history.length === 0 ? (
                <p className="text-text-muted">{text.noAttempts}</p>
              ) : (
                <ol className="flex flex-col gap-2">
                  {data.history.toReversed().map((attempt) => (
                    <Attempt key={attempt.attempt} attempt={attempt} />
                  ))}
                </ol>
              )}
              {data.attempts > data.history.length && (
                <p className="mt-1 text-sm text-text-muted">
                  {format(text.newestAttempts, { shown: data.history.length, all: data.attempts })}
                </p>
              )}
            </section>
          </div>
        )}
      </Loaded>
    </Dialog>
  );
}
