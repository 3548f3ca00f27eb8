import { useWords } from '../../../app/language.tsx';
import { CheckRow, Group, LongTextField, TextField } from '../parts/controls.tsx';
import type { Webhook } from './webhook.ts';

export type EventType = Webhook['events'][number];

export const eventTypes: readonly EventType[] = [
  'message.created',
  'conversation.created',
  'conversation.closed',
  'conversation.assigned',
  'csat.submitted',
];

export interface WebhookValue {
  url: string;
  description: string;
  events: EventType[];
}

/** The fields that a new webhook and an existing one have. */
export function WebhookFields({
  value,
  set,
  errorOf,
}: {
  value: WebhookValue;
  set: (changes: Partial<WebhookValue>) => void;
  errorOf: (path: string) => string | null;
}) {
  const { settings } = useWords();
  const words = settings.webhooks;
  const known = value.events.filter((event) => !eventTypes.includes(event));
  return (
    <>
      <TextField
        label={words.url}
        hint={words.urlHint}
        type="url"
        required
        maxLength={2000}
        placeholder="https://"
        value={value.url}
        error={errorOf('url')}
        onChange={(url) => set({ url })}
      />
      <Group label={words.events} error={errorOf('events')}>
        {[...eventTypes, ...known].map((event) => (
          <CheckRow
            key={event}
            label={<code>{event}</code>}
            hint={words.eventTexts[event]}
            isChecked={value.events.includes(event)}
            onChange={(isChecked) =>
              set({
                events: isChecked ? [...value.events, event] : value.events.filter((each) => each !== event),
              })
            }
          />
        ))}
      </Group>
      <LongTextField
        label={words.description}
        isOptional
        rows={2}
        maxLength={500}
        value={value.description}
        error={errorOf('description')}
        onChange={(description) => set({ description })}
      />
    </>
  );
}
