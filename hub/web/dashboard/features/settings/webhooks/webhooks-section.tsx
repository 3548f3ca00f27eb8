import { useSettingsSearch } from '../use-settings-search.ts';
import { WebhookDetail } from './webhook-detail.tsx';
import { WebhookList } from './webhook-list.tsx';

export function WebhooksSection() {
  const [{ id }] = useSettingsSearch();
  return id === undefined ? <WebhookList /> : <WebhookDetail key={id} id={id} />;
}
