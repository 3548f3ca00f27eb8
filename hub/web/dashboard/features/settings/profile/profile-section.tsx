import { useQuery } from '@tanstack/react-query';
import { query } from '../../../app/api.ts';
import { languageNames, useLanguage } from '../../../app/language.tsx';
import type { DashboardLocale } from '../../../app/language.tsx';
import { useChooseLanguage } from '../../../app/preferences.ts';
import { ErrorNote } from '../../../ui/error.tsx';
import { Card } from '../../../ui/layout.tsx';
import { Loaded } from '../../../ui/loaded.tsx';
import { ChoiceField } from '../parts/controls.tsx';
import { NameForm } from './name-form.tsx';
import { NotificationList } from './notification-list.tsx';
import { PasswordForm } from './password-form.tsx';
import { PictureForm } from './picture-form.tsx';
import { SessionList } from './session-list.tsx';

export function ProfileSection() {
  const { locale, words } = useLanguage();
  const { settings } = words;
  const me = useQuery(query('readMe'));
  const { choose, error } = useChooseLanguage();
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
      <Card className="p-4">
        <ChoiceField
          label={settings.profile.language}
          hint={settings.profile.languageHint}
          value={locale as DashboardLocale}
          choices={Object.entries(languageNames) as [DashboardLocale, string][]}
          onChange={choose}
        />
        <ErrorNote error={error} />
      </Card>
      <NotificationList />
      <PasswordForm />
      <SessionList />
    </div>
  );
}
