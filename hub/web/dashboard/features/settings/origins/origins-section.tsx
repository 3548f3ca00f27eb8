import { useQuery, useQueryClient } from '@tanstack/react-query';
import { keyOf, query, useAction } from '../../../app/api.ts';
import type { Answer } from '../../../app/api.ts';
import { useWords } from '../../../app/language.tsx';
import { useTenantId } from '../../../app/session.tsx';
import { Section } from '../../../ui/layout.tsx';
import { Loaded } from '../../../ui/loaded.tsx';
import { LinesField } from '../parts/controls.tsx';
import { EditForm } from '../parts/edit-form.tsx';
import { useEdits } from '../parts/use-edits.ts';

function OriginsForm({ current }: { current: Answer<'getAllowedOrigins'> }) {
  const { settings } = useWords();
  const words = settings.origins;
  const cache = useQueryClient();
  const input = { params: { tenantId: useTenantId() } };
  const put = useAction('putAllowedOrigins', {
    onDone: (answer) => cache.setQueryData(keyOf('getAllowedOrigins', input), answer),
  });
  const edits = useEdits({
    current,
    reload: () => cache.fetchQuery({ ...query('getAllowedOrigins', input), staleTime: 0 }),
    save: ({ origins }) => put.run({ ...input, body: { origins } }),
  });
  return (
    <EditForm edits={edits} labels={{ origins: words.origins }} canEdit>
      <Section title={words.title}>
        <LinesField
          label={words.origins}
          hint={words.hint}
          rows={6}
          value={edits.value.origins}
          error={edits.errorOf('origins')}
          onChange={(origins) => edits.set({ origins })}
        />
        <p className="text-sm text-text-muted">{words.note}</p>
      </Section>
    </EditForm>
  );
}

export function OriginsSection() {
  const origins = useQuery(query('getAllowedOrigins', { params: { tenantId: useTenantId() } }));
  return <Loaded of={origins}>{(current) => <OriginsForm current={current} />}</Loaded>;
}
