import { useLanguage } from '../../../app/language.tsx';
import { Field, Input } from '../../../ui/form.tsx';
import { Section } from '../../../ui/layout.tsx';
import { ChoiceField, LongTextField, SwitchRow, TextField } from '../parts/controls.tsx';
import type { ChatValue } from './chat-value.ts';

type ChatLocale = NonNullable<ChatValue['locale']>;
const locales: readonly ChatLocale[] = ['en', 'de', 'fr', 'es', 'ar', 'ja'];

export function AppearanceFields({
  value,
  set,
  errorOf,
}: {
  value: ChatValue;
  set: (changes: Partial<ChatValue>) => void;
  errorOf: (path: string) => string | null;
}) {
  const { words, variant } = useLanguage();
  const text = words.settings.chat;
  const nameOf = new Intl.DisplayNames([variant], { type: 'language' });
  return (
    <Section title={text.appearance}>
      <div className="grid gap-x-4 sm:grid-cols-2">
        <TextField
          label={text.labels.title}
          required
          maxLength={60}
          value={value.title}
          error={errorOf('title')}
          onChange={(title) => set({ title })}
        />
        <ChoiceField
          label={text.labels.locale}
          value={value.locale ?? 'visitor'}
          choices={[
            ['visitor', text.visitorLanguage],
            ...locales.map((each) => [each, nameOf.of(each) ?? each] as const),
          ]}
          error={errorOf('locale')}
          onChange={(locale) => set({ locale: locale === 'visitor' ? null : locale })}
        />
      </div>
      <Field label={text.labels.colour} hint={text.colourHint} error={errorOf('colour')}>
        {(attributes) => (
          <span className="flex items-center gap-2">
            <input
              {...attributes}
              type="color"
              className="h-9 w-12 rounded-(--radius-medium) border border-border-control bg-input p-1"
              value={value.colour}
              onChange={({ target }) => set({ colour: target.value })}
            />
            <Input
              aria-label={text.colourCode}
              className="max-w-28 font-mono"
              value={value.colour}
              onChange={({ target }) => set({ colour: target.value.toLowerCase() })}
            />
          </span>
        )}
      </Field>
      <SwitchRow
        label={text.ownGreeting}
        hint={text.greetingHint}
        isOn={value.greeting !== null}
        onChange={(isOwn) => set({ greeting: isOwn ? '' : null })}
      />
      {value.greeting !== null && (
        <LongTextField
          label={text.labels.greeting}
          rows={2}
          maxLength={500}
          value={value.greeting}
          error={errorOf('greeting')}
          onChange={(greeting) => set({ greeting })}
        />
      )}
    </Section>
  );
}
