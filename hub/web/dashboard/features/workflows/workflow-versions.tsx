import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import type { Workflow } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { background } from '../../../../../shared/web/background.ts';
import { keyOf, pagedQuery, query, useAction } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { reread } from '../../app/live-updates.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Card, Empty, Section } from '../../ui/layout.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { Pill } from '../../ui/status.tsx';
import { LocalTime } from '../../ui/time.tsx';
import { showToast } from '../../ui/toasts.tsx';
import { CodeBlock } from '../../ui/value.tsx';
import { useActorName } from '../runs/use-members.ts';
import { textOf } from './workflow-document.ts';

/** The versions of a workflow; the selected one is in the address. */
export function WorkflowVersions({ workflow }: { workflow: Workflow }) {
  const { words, format } = useLanguage();
  const texts = words.workflows;
  const { version: selected } = useSearch({ from: '/workflows/$workflowId/{-$tab}' });
  const nameOf = useActorName();
  const list = useInfiniteQuery(
    pagedQuery('listAutomationWorkflowVersions', { params: { id: workflow.id }, query: { limit: 50 } }),
  );
  return (
    <>
      <p className="mb-3 text-text-muted">{texts.versionsHint}</p>
      <div className="grid items-start gap-4 lg:grid-cols-[20rem_minmax(0,1fr)]">
        <Card>
          <Loaded of={list}>
            {({ pages }) => (
              <ul aria-label={texts.versionList}>
                {pages
                  .flatMap(({ data }) => data)
                  .map(({ version, name, savedBy, createdAt }) => (
                    <li key={version} className="border-b last:border-b-0">
                      <Link
                        to="/workflows/$workflowId/{-$tab}"
                        params={{ workflowId: workflow.id, tab: 'versions' }}
                        search={{ version }}
                        resetScroll={false}
                        aria-current={version === selected ? 'true' : undefined}
                        className="block px-3.5 py-2 text-text no-underline hover:bg-hover aria-[current=true]:bg-accent-muted"
                      >
                        <span className="flex flex-wrap items-center gap-2 font-medium">
                          {format(texts.versionName, { version: String(version) })}
                          {version === workflow.version && <Pill tone="success">{texts.current}</Pill>}
                        </span>
                        <span className="block text-sm wrap-anywhere text-text-muted">
                          <LocalTime at={createdAt} />
                          {savedBy !== null && ` · ${format(texts.savedBy, { who: nameOf(savedBy) })}`}
                          {name !== workflow.name && ` · ${visibleLine(name)}`}
                        </span>
                      </Link>
                    </li>
                  ))}
              </ul>
            )}
          </Loaded>
          {list.hasNextPage && (
            <p className="p-2 text-center">
              <Button size="small" isBusy={list.isFetchingNextPage} onClick={() => background(list.fetchNextPage())}>
                {words.common.more}
              </Button>
            </p>
          )}
        </Card>
        {selected === undefined ? (
          <Card>
            <Empty title={texts.selectVersion} />
          </Card>
        ) : (
          <Version key={selected} workflow={workflow} version={selected} />
        )}
      </div>
    </>
  );
}

function Version({ workflow, version }: { workflow: Workflow; version: number }) {
  const { words, format } = useLanguage();
  const texts = words.workflows;
  const cache = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const params = { id: workflow.id, version };
  const detail = useQuery(query('getAutomationWorkflowVersion', { params }));
  const restore = useAction('restoreAutomationWorkflowVersion', {
    onDone: (answer) => {
      setAsking(false);
      cache.setQueryData(keyOf('getAutomationWorkflow', { params: { id: answer.id } }), answer);
      reread(cache, ['listAutomationWorkflowVersions', 'listAutomationWorkflowSummaries']);
      showToast(format(texts.restored, { version: String(version), now: String(answer.version) }));
    },
  });
  return (
    <Section
      title={format(texts.versionName, { version: String(version) })}
      actions={
        version !== workflow.version && (
          <Button size="small" disabled={detail.data === undefined} onClick={() => setAsking(true)}>
            {texts.restore}
          </Button>
        )
      }
    >
      <Loaded of={detail}>
        {({ name, stepsJson, inputs }) => (
          <CodeBlock
            label={format(texts.versionName, { version: String(version) })}
            text={textOf({ name, stepsJson, inputs })}
          />
        )}
      </Loaded>
      {isAsking && (
        <Confirm
          title={format(texts.restoreTitle, { version: String(version) })}
          confirm={texts.restore}
          isDangerous={false}
          action={restore}
          onConfirm={() => restore.start({ params }, workflow.version)}
          onClose={() => {
            setAsking(false);
            restore.reset();
          }}
        >
          {format(texts.restoreText, { version: String(version) })}
        </Confirm>
      )}
    </Section>
  );
}
