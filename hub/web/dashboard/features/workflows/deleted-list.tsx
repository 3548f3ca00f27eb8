import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import type { DeletedWorkflow } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { pagedQuery, useAction } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { reread } from '../../app/live-updates.tsx';
import { Button } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { Card, Empty } from '../../ui/layout.tsx';
import { PagedList } from '../../ui/paged-list.tsx';
import { Pill } from '../../ui/status.tsx';
import { RelativeTime } from '../../ui/time.tsx';
import { showToast } from '../../ui/toasts.tsx';

function DeletedRow({ workflow: { id, name, version, environment, deletedAt } }: { workflow: DeletedWorkflow }) {
  const { words, format } = useLanguage();
  const texts = words.workflows;
  const cache = useQueryClient();
  const shown = visibleLine(name);
  const restore = useAction('restoreAutomationWorkflow', {
    onDone: () => {
      reread(cache, ['listDeletedAutomationWorkflows', 'listAutomationWorkflowSummaries']);
      showToast(format(texts.wasRestored, { name: shown }));
    },
  });
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b px-3.5 py-2.5 last:border-b-0">
      <div className="min-w-0 flex-1 basis-40">
        <p className="font-medium wrap-anywhere">
          {shown} {environment === 'test' && <Pill tone="neutral">{words.common.test}</Pill>}
        </p>
        <p className="text-sm text-text-muted">
          {format(texts.version, { version: String(version) })} · {texts.deletedAt} <RelativeTime at={deletedAt} />
        </p>
        <ErrorNote error={restore.error} />
      </div>
      <Button
        size="small"
        aria-label={`${texts.restoreDeleted} ${shown}`}
        isBusy={restore.isPending}
        onClick={() => restore.start({ params: { id } })}
      >
        {texts.restoreDeleted}
      </Button>
    </li>
  );
}

/** Deleted workflows, the last deleted one first, each with a button that restores it. */
export function DeletedList() {
  const { workflows: texts } = useLanguage().words;
  const list = useInfiniteQuery(pagedQuery('listDeletedAutomationWorkflows', { query: { limit: 50 } }));
  return (
    <Card>
      <PagedList of={list} empty={<Empty title={texts.noDeleted}>{texts.noDeletedText}</Empty>}>
        {(rows) => (
          <ul aria-label={texts.deletedList}>
            {rows.map((workflow) => (
              <DeletedRow key={workflow.id} workflow={workflow} />
            ))}
          </ul>
        )}
      </PagedList>
    </Card>
  );
}
