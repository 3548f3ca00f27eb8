import type { Answer } from '../../../app/api.ts';
import { useWords } from '../../../app/language.tsx';
import { Pill } from '../../../ui/status.tsx';
import type { Tone } from '../../../ui/status.tsx';

export type Delivery = Answer<'redeliverWebhookDelivery'>;

const tones: Record<Delivery['status'], Tone> = {
  pending: 'accent',
  delivered: 'success',
  failed: 'warning',
  exhausted: 'danger',
  cancelled: 'neutral',
};
export const deliveryStatuses = Object.keys(tones) as Delivery['status'][];

export function DeliveryStatus({ status }: { status: Delivery['status'] }) {
  const { settings } = useWords();
  return <Pill tone={tones[status]}>{settings.webhooks.status[status]}</Pill>;
}
