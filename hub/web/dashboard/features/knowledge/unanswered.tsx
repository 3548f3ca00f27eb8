import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import type { UnansweredQuestion } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { pagedQuery, useAction } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { useIsAdmin, useTenantId } from '../../app/session.tsx';
import { Button } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { Section } from '../../ui/layout.tsx';
import { PagedList } from '../../ui/paged-list.tsx';
import { RelativeTime } from '../../ui/time.tsx';

/** Questions of visitors that no entry answers. `onAnswer` writes an entry for one. */
export function Unanswered({ onAnswer }: { onAnswer: (question: UnansweredQuestion) => void }) {
  const { words, format } = useLanguage();
  const texts = words.knowledge;
  const tenantId = useTenantId();
  const isAdmin = useIsAdmin();
  const cache = useQueryClient();
  const list = useInfiniteQuery(pagedQuery('listUnansweredQuestions', { params: { tenantId }, query: { limit: 20 } }));
  const dismiss = useAction('dismissUnansweredQuestion', {
    onDone: () => cache.invalidateQueries({ queryKey: ['listUnansweredQuestions'] }),
  });
  return (
    <Section title={texts.unanswered}>
      <ErrorNote error={dismiss.error} />
      <PagedList of={list} empty={<p className="text-text-muted">{texts.noUnanswered}</p>}>
        {(rows) => (
          <ul>
            {rows.map((row) => (
              <li key={row.id} className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b py-2 last:border-b-0">
                <div className="min-w-0 flex-1">
                  <p className="wrap-anywhere">{visibleLine(row.question)}</p>
                  <p className="text-sm text-text-muted">
                    {row.count === 1 ? texts.once : format(texts.count, { count: row.count })} ·{' '}
                    <RelativeTime at={row.lastAskedAt} />
                  </p>
                </div>
                {isAdmin && (
                  <span className="flex gap-2">
                    <Button size="small" onClick={() => onAnswer(row)}>
                      {texts.answer}
                    </Button>
                    <Button
                      size="small"
                      variant="quiet"
                      disabled={dismiss.isPending}
                      onClick={() => dismiss.start({ params: { tenantId, id: row.id } })}
                    >
                      {texts.dismiss}
                    </Button>
                  </span>
                )}
              </li>
            ))}
          </ul>
        )}
      </PagedList>
    </Section>
  );
}
