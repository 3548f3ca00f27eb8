import { useQuery } from '@tanstack/react-query';
import { visibleLine } from '../../../../../../shared/visible-text.ts';
import { query } from '../../../app/api.ts';
import { useLanguage } from '../../../app/language.tsx';
import { useTenantId } from '../../../app/session.tsx';
import { TextLink } from '../../../ui/layout.tsx';
import { Loaded } from '../../../ui/loaded.tsx';
import { Pill, StatusPill } from '../../../ui/status.tsx';
import { Tabs } from '../../../ui/tabs.tsx';
import { Note } from '../parts/note.tsx';
import { useSettingsSearch } from '../use-settings-search.ts';
import { DeliveryList } from './delivery-list.tsx';
import { WebhookSettings } from './webhook-settings.tsx';

export function WebhookDetail({ id }: { id: string }) {
  const { words, format } = useLanguage();
  const { common, settings } = words;
  const [{ tab }, change] = useSettingsSearch();
  const webhook = useQuery(query('getWebhook', { params: { tenantId: useTenantId(), id } }));
  return (
    <>
      <p className="mb-1 text-sm">
        <TextLink to="/settings/{-$section}" params={{ section: 'webhooks' }}>
          {settings.webhooks.all}
        </TextLink>
      </p>
      <Loaded of={webhook}>
        {(data) => (
          <>
            <div className="mb-3 flex flex-wrap items-center gap-2">
              <h2 className="min-w-0 text-lg wrap-anywhere">{visibleLine(data.url)}</h2>
              <StatusPill status={data.active ? 'active' : 'inactive'} />
              <Pill tone="neutral">{data.environment === 'live' ? common.live : common.test}</Pill>
            </div>
            {data.disabledReason !== null && (
              <Note tone="warning">
                {format(settings.webhooks.disabledBecause, { reason: visibleLine(data.disabledReason) })}
              </Note>
            )}
            <Tabs
              label={settings.webhooks.parts}
              tabs={[
                { name: 'deliveries', label: settings.webhooks.deliveries },
                { name: 'settings', label: common.settings },
              ]}
              selected={tab === 'settings' ? 'settings' : 'deliveries'}
              onSelect={(name) => change({ tab: name === 'deliveries' ? undefined : name })}
            />
            {tab === 'settings' ? <WebhookSettings webhook={data} /> : <DeliveryList webhook={data} />}
          </>
        )}
      </Loaded>
    </>
  );
}
