import { useQueryClient } from '@tanstack/react-query';
import { keyOf, query, useAction } from '../../../app/api.ts';
import type { Answer } from '../../../app/api.ts';
import { useLanguage } from '../../../app/language.tsx';
import { Facts, Section } from '../../../ui/layout.tsx';
import { TextField } from '../parts/controls.tsx';
import { EditForm } from '../parts/edit-form.tsx';
import { useEdits } from '../parts/use-edits.ts';

type User = Answer<'readMe'>['user'];
const valueOf = (user: User) => ({ displayName: user.displayName ?? '' });

export function NameForm({ user }: { user: User }) {
  const { common, settings } = useLanguage().words;
  const cache = useQueryClient();
  const update = useAction('updateMe');
  const edits = useEdits({
    current: valueOf(user),
    reload: async () => valueOf((await cache.fetchQuery({ ...query('readMe'), staleTime: 0 })).user),
    save: async ({ displayName }) => {
      const answer = await update.run({ body: { displayName: displayName.trim() === '' ? null : displayName } });
      cache.setQueryData<Answer<'readMe'>>(keyOf('readMe'), (me) => me && { ...me, user: answer.user });
    },
  });
  return (
    <Section title={settings.profile.you}>
      <EditForm edits={edits} labels={{ displayName: settings.profile.displayName }} canEdit isInCard>
        <Facts
          rows={[
            [common.email, user.email],
            [settings.members.role, common.roles[user.role]],
          ]}
        />
        <TextField
          label={settings.profile.displayName}
          hint={settings.profile.displayNameHint}
          isOptional
          maxLength={100}
          autoComplete="name"
          value={edits.value.displayName}
          error={edits.errorOf('displayName')}
          onChange={(displayName) => edits.set({ displayName })}
        />
      </EditForm>
    </Section>
  );
}
