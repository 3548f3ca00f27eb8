import { useQueryClient } from '@tanstack/react-query';
import { query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { useIsAdmin, useTenantId } from '../../app/session.tsx';
import { Field, TextArea } from '../../ui/form.tsx';
import { Card } from '../../ui/layout.tsx';
import { EditForm } from '../settings/parts/edit-form.tsx';
import { useEdits } from '../settings/parts/use-edits.ts';
import { useChangeKnowledge } from './use-change-knowledge.ts';

/** The text that is part of every prompt. What was typed stays when a colleague changes the text at the same time. */
export function Terms({ terms: current }: { terms: string }) {
  const texts = useLanguage().words.knowledge;
  const tenantId = useTenantId();
  const cache = useQueryClient();
  const change = useChangeKnowledge();
  const edits = useEdits({
    current: { terms: current },
    reload: async () => {
      const { terms } = await cache.fetchQuery({ ...query('getKnowledge', { params: { tenantId } }), staleTime: 0 });
      return { terms };
    },
    save: ({ terms }) => change.mutateAsync((stored) => ({ ...stored, terms })),
  });
  return (
    <Card className="p-4">
      <EditForm edits={edits} labels={{ terms: texts.terms }} canEdit={useIsAdmin()} isInCard>
        <Field label={texts.terms} hint={texts.termsHint}>
          {(attributes) => (
            <TextArea
              {...attributes}
              rows={5}
              maxLength={20_000}
              value={edits.value.terms}
              onChange={(event) => edits.set({ terms: event.target.value })}
            />
          )}
        </Field>
      </EditForm>
    </Card>
  );
}
