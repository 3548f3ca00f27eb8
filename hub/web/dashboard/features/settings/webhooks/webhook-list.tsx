import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { visibleLine } from '../../../../../../shared/visible-text.ts';
import { pagedQuery, useAction } from '../../../app/api.ts';
import { useLanguage } from '../../../app/language.tsx';
import { reread } from '../../../app/live-updates.tsx';
import { useTenantId } from '../../../app/session.tsx';
import { Button } from '../../../ui/button.tsx';
import { ErrorNote } from '../../../ui/error.tsx';
import { Switch } from '../../../ui/form.tsx';
import { Empty, TextLink } from '../../../ui/layout.tsx';
import { Pill } from '../../../ui/status.tsx';
import { Cell, Row, Table } from '../../../ui/table.tsx';
import { PagedRows } from '../parts/paged-rows.tsx';
import { CreateWebhook } from './create-webhook.tsx';
import type { Webhook } from './webhook.ts';

const pageRows = 25;

function WebhookRow({ webhook }: { webhook: Webhook }) {
  const { words, format } = useLanguage();
  const { common, settings } = words;
  const tenantId = useTenantId();
  const cache = useQueryClient();
  const update = useAction('updateWebhook', { onDone: () => reread(cache, ['listWebhooks', 'getWebhook']) });
  const url = visibleLine(webhook.url);
  return (
    <Row>
      <Cell label="" className="min-w-52 wrap-anywhere" note={visibleLine(webhook.description)}>
        <TextLink to="/settings/{-$section}" params={{ section: 'webhooks' }} search={{ id: webhook.id }}>
          {url}
        </TextLink>
        {webhook.disabledReason !== null && (
          <span className="block text-sm text-danger">
            {format(settings.webhooks.disabledBecause, { reason: visibleLine(webhook.disabledReason) })}
          </span>
        )}
        <ErrorNote error={update.error} />
      </Cell>
      <Cell label={settings.webhooks.events} className="min-w-40 text-sm">
        {webhook.events.join(', ')}
      </Cell>
      <Cell label={settings.webhooks.environment}>
        <Pill tone={webhook.environment === 'live' ? 'accent' : 'neutral'}>
          {webhook.environment === 'live' ? common.live : common.test}
        </Pill>
      </Cell>
      <Cell label={settings.webhooks.active} className="text-end">
        <Switch
          label={format(settings.webhooks.sendTo, { url })}
          isOn={webhook.active}
          isDisabled={update.isPending}
          onChange={(active) => update.start({ params: { tenantId, id: webhook.id }, body: { active } })}
        />
      </Cell>
    </Row>
  );
}

export function WebhookList() {
  const { settings } = useLanguage().words;
  const words = settings.webhooks;
  const tenantId = useTenantId();
  const [isCreating, setCreating] = useState(false);
  const list = useInfiniteQuery(pagedQuery('listWebhooks', { params: { tenantId }, query: { limit: pageRows } }));
  return (
    <>
      <div className="mb-3 flex justify-end">
        <Button variant="primary" onClick={() => setCreating(true)}>
          <Plus size={16} aria-hidden />
          {words.create}
        </Button>
      </div>
      <PagedRows list={list} operation="listWebhooks" empty={<Empty title={words.empty}>{words.emptyText}</Empty>}>
        {(webhooks) => (
          <Table
            isStacked
            head={[words.url, words.events, words.environment, <span className="block text-end">{words.active}</span>]}
          >
            {webhooks.map((webhook) => (
              <WebhookRow key={webhook.id} webhook={webhook} />
            ))}
          </Table>
        )}
      </PagedRows>
      {isCreating && <CreateWebhook onClose={() => setCreating(false)} />}
    </>
  );
}
