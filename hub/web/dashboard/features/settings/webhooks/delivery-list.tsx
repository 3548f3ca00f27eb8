import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { visibleLine } from '../../../../../../shared/visible-text.ts';
import { pagedQuery, useAction } from '../../../app/api.ts';
import { useLanguage } from '../../../app/language.tsx';
import { reread } from '../../../app/live-updates.tsx';
import { useTenantId } from '../../../app/session.tsx';
import { Button } from '../../../ui/button.tsx';
import { ErrorNote } from '../../../ui/error.tsx';
import { Select } from '../../../ui/form.tsx';
import { Empty, TextLink } from '../../../ui/layout.tsx';
import { Cell, Row, Table } from '../../../ui/table.tsx';
import { RelativeTime } from '../../../ui/time.tsx';
import { showToast } from '../../../ui/toasts.tsx';
import { PagedRows } from '../parts/paged-rows.tsx';
import { useSettingsSearch } from '../use-settings-search.ts';
import { DeliveryDialog } from './delivery-dialog.tsx';
import { deliveryStatuses, DeliveryStatus } from './delivery-status.tsx';
import type { Delivery } from './delivery-status.tsx';
import { ReplayDialog } from './replay-dialog.tsx';
import { eventTypes } from './webhook-fields.tsx';
import type { EventType } from './webhook-fields.tsx';
import type { Webhook } from './webhook.ts';

const pageRows = 25;
/** Deliveries have no live events. */
const pendingRereadMs = 3_000;

function DeliveryRow({ delivery }: { delivery: Delivery }) {
  const { words, duration, number } = useLanguage();
  const { common, settings } = words;
  return (
    <Row>
      <Cell className="whitespace-nowrap">
        <TextLink
          to="/settings/{-$section}"
          params={{ section: 'webhooks' }}
          search={(before) => ({ ...before, delivery: delivery.id })}
          resetScroll={false}
        >
          {delivery.event}
        </TextLink>
      </Cell>
      <Cell className="min-w-44" note={delivery.lastError === null ? undefined : visibleLine(delivery.lastError)}>
        <DeliveryStatus status={delivery.status} />
      </Cell>
      <Cell
        className="whitespace-nowrap"
        note={delivery.responseMs === null ? undefined : duration(delivery.responseMs)}
      >
        {delivery.responseStatus ?? common.none}
      </Cell>
      <Cell
        className="whitespace-nowrap"
        note={
          delivery.nextAttemptAt === null ? undefined : (
            <>
              {settings.webhooks.next} <RelativeTime at={delivery.nextAttemptAt} />
            </>
          )
        }
      >
        {number(delivery.attempts)}
      </Cell>
      <Cell className="whitespace-nowrap">
        <RelativeTime at={delivery.createdAt} />
      </Cell>
    </Row>
  );
}

function TestButton({ webhook }: { webhook: Webhook }) {
  const { settings } = useLanguage().words;
  const tenantId = useTenantId();
  const cache = useQueryClient();
  const test = useAction('testWebhook', {
    onDone: () => {
      showToast(settings.webhooks.testSent);
      reread(cache, ['listWebhookDeliveries']);
    },
  });
  const event = webhook.events[0] ?? 'message.created';
  return (
    <>
      <Button
        isBusy={test.isPending}
        onClick={() => test.start({ params: { tenantId, id: webhook.id }, body: { event } })}
      >
        {settings.webhooks.test}
      </Button>
      {test.error !== null && (
        <div className="w-full">
          <ErrorNote error={test.error} />
        </div>
      )}
    </>
  );
}

export function DeliveryList({ webhook }: { webhook: Webhook }) {
  const { settings } = useLanguage().words;
  const text = settings.webhooks;
  const tenantId = useTenantId();
  const [{ status, event, delivery }, change] = useSettingsSearch();
  const [isReplaying, setReplaying] = useState(false);
  const filters = {
    ...(deliveryStatuses.some((each) => each === status) ? { status: status as Delivery['status'] } : {}),
    ...(eventTypes.some((each) => each === event) ? { event: event as EventType } : {}),
  };
  const list = useInfiniteQuery({
    ...pagedQuery('listWebhookDeliveries', {
      params: { tenantId, id: webhook.id },
      query: { ...filters, limit: pageRows },
    }),
    // Each page costs a request.
    refetchInterval: ({ state: { data: loaded } }) =>
      loaded?.pages.some((page) => page.data.some((each) => each.status === 'pending')) === true
        ? pendingRereadMs * loaded.pages.length
        : false,
  });
  return (
    <>
      <div className="mb-3 flex flex-wrap items-center gap-2">
        <Select
          aria-label={text.filterStatus}
          className="w-auto!"
          value={filters.status ?? ''}
          onChange={({ target }) => change({ status: target.value })}
        >
          <option value="">{text.anyStatus}</option>
          {deliveryStatuses.map((each) => (
            <option key={each} value={each}>
              {text.status[each]}
            </option>
          ))}
        </Select>
        <Select
          aria-label={text.filterEvent}
          className="w-auto!"
          value={filters.event ?? ''}
          onChange={({ target }) => change({ event: target.value })}
        >
          <option value="">{text.anyEvent}</option>
          {eventTypes.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </Select>
        <span className="ms-auto flex flex-wrap gap-2">
          <Button onClick={() => setReplaying(true)}>{text.replay}</Button>
          <TestButton webhook={webhook} />
        </span>
      </div>
      <PagedRows
        list={list}
        operation="listWebhookDeliveries"
        empty={
          <Empty title={text.noDeliveries}>
            {Object.keys(filters).length > 0 ? text.noDeliveriesFiltered : text.noDeliveriesText}
          </Empty>
        }
      >
        {(deliveries) => (
          <Table head={[text.event, text.state, text.response, text.attempts, text.created]}>
            {deliveries.map((each) => (
              <DeliveryRow key={each.id} delivery={each} />
            ))}
          </Table>
        )}
      </PagedRows>
      {isReplaying && <ReplayDialog webhook={webhook} onClose={() => setReplaying(false)} />}
      {delivery !== undefined && (
        <DeliveryDialog
          key={delivery}
          webhook={webhook}
          id={delivery}
          onClose={() => change({ delivery: undefined })}
        />
      )}
    </>
  );
}
