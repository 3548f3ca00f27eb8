import { useQuery } from '@tanstack/react-query';
import { query } from '../../../app/api.ts';
import { languageNames, storeLocale, useLanguage } from '../../../app/language.tsx';
import type { DashboardLocale } from '../../../app/language.tsx';
import { Section } from '../../../ui/layout.tsx';
import { Loaded } from '../../../ui/loaded.tsx';
import { ChoiceField } from '../parts/controls.tsx';
import { NameForm } from './name-form.tsx';
import { PasswordForm } from './password-form.tsx';
import { PictureForm } from './picture-form.tsx';

export function ProfileSection() {
  const { locale, words } = useLanguage();
  const { common, settings } = words;
  const me = useQuery(query('readMe'));
  return (
    <div className="flex max-w-3xl flex-col gap-4">
      <Loaded of={me}>
        {({ user }) => (
          <>
            <NameForm user={user} />
            <PictureForm user={user} />
          </>
        )}
      </Loaded>
      <Section title={common.language}>
        <ChoiceField
          label={settings.profile.language}
          hint={settings.profile.languageHint}
          value={locale as DashboardLocale}
          choices={Object.entries(languageNames) as [DashboardLocale, string][]}
          onChange={(name) => {
            storeLocale(name);
            location.reload();
          }}
        />
      </Section>
      <PasswordForm />
    </div>
  );
}
