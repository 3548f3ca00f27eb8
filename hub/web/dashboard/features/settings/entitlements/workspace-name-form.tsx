import { useQueryClient } from '@tanstack/react-query';
import { keyOf, query, useAction } from '../../../app/api.ts';
import type { Answer } from '../../../app/api.ts';
import { useWords } from '../../../app/language.tsx';
import { useIsAdmin, useTenantId } from '../../../app/session.tsx';
import { Section } from '../../../ui/layout.tsx';
import { TextField } from '../parts/controls.tsx';
import { EditForm } from '../parts/edit-form.tsx';
import { useEdits } from '../parts/use-edits.ts';

export function WorkspaceNameForm({ name }: { name: string }) {
  const { entitlements: words, groups } = useWords().settings;
  const tenantId = useTenantId();
  const isAdmin = useIsAdmin();
  const cache = useQueryClient();
  const rename = useAction('renameWorkspace');
  const edits = useEdits({
    current: { name },
    reload: async () => ({
      name: (await cache.fetchQuery({ ...query('readMe'), staleTime: 0 })).workspaceName,
    }),
    save: async (value) => {
      const renamed = await rename.run({ params: { tenantId }, body: { name: value.name.trim() } });
      cache.setQueryData<Answer<'readMe'>>(keyOf('readMe'), (me) => me && { ...me, workspaceName: renamed.name });
    },
  });
  return (
    <Section title={groups.workspace}>
      <EditForm edits={edits} labels={{ name: words.workspaceName }} canEdit={isAdmin} isInCard>
        <TextField
          label={words.workspaceName}
          hint={words.workspaceNameHint}
          required
          maxLength={200}
          value={edits.value.name}
          error={edits.errorOf('name')}
          onChange={(changed) => edits.set({ name: changed })}
        />
      </EditForm>
    </Section>
  );
}
