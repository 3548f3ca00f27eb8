import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { KnowledgeEntry } from '../../../../../shared/client/operations.ts';
import { query, useAction } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { useIsAdmin, useTenantId } from '../../app/session.tsx';
import { Button } from '../../ui/button.tsx';
import { useErrorText } from '../../ui/error.tsx';
import { Page } from '../../ui/layout.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { showToast, undoMs } from '../../ui/toasts.tsx';
import { Entries } from './entries.tsx';
import { EntryDialog } from './entry-dialog.tsx';
import { Terms } from './terms.tsx';
import { TryQuestion } from './try-question.tsx';
import { Unanswered } from './unanswered.tsx';
import { useChangeKnowledge } from './use-change-knowledge.ts';
import type { KnowledgeUpdate } from './use-change-knowledge.ts';

/** An entry that is being written. `unansweredId` is the question of a visitor that it answers. */
interface Editing {
  entry: KnowledgeEntry;
  isNew: boolean;
  unansweredId?: string;
}

/** A new id that no entry has: the first words of the question, and a number where they are taken. */
function idFor(question: string, entries: readonly KnowledgeEntry[]): string {
  const words = question.toLowerCase().match(/[a-z0-9]+/g) ?? ['entry'];
  const base = words.slice(0, 6).join('-').slice(0, 80);
  const taken = new Set(entries.map(({ id }) => id));
  let id = base;
  for (let number = 2; taken.has(id); number += 1) id = `${base}-${number}`;
  return id;
}

const emptyEntry = (question = ''): KnowledgeEntry => ({ id: '', question, answer: '', url: null, locale: null });

/** The entries from which AI agents answer, and the questions that none answers. */
export function KnowledgePage() {
  const { words, format } = useLanguage();
  const texts = words.knowledge;
  const tenantId = useTenantId();
  const isAdmin = useIsAdmin();
  const cache = useQueryClient();
  const input = { params: { tenantId } };
  const knowledge = useQuery(query('getKnowledge', input));
  const [editing, setEditing] = useState<Editing | null>(null);
  const dismiss = useAction('dismissUnansweredQuestion', {
    onDone: () => cache.invalidateQueries({ queryKey: ['listUnansweredQuestions'] }),
  });
  const save = useChangeKnowledge();
  const errorText = useErrorText();
  const store = async ({ isNew, unansweredId }: Editing, entry: KnowledgeEntry) => {
    await save.mutateAsync(({ entries, terms }) => ({
      terms,
      entries: isNew
        ? [...entries, { ...entry, id: idFor(entry.question, entries) }]
        : entries.map((each) => (each.id === entry.id ? entry : each)),
    }));
    showToast(texts.saved);
    setEditing(null);
    if (unansweredId !== undefined) dismiss.start({ params: { tenantId, id: unansweredId } });
  };
  /** Deletes immediately: the request has the whole knowledge, so it cannot wait until the page is left. */
  const remove = async (entry: KnowledgeEntry) => {
    let index = 0;
    await save.mutateAsync(({ entries, terms }) => {
      index = entries.findIndex(({ id }) => id === entry.id);
      return { terms, entries: entries.filter(({ id }) => id !== entry.id) };
    });
    const restore = () => {
      const putBack: KnowledgeUpdate = ({ entries, terms }) => ({
        terms,
        entries: entries.some(({ id }) => id === entry.id) ? entries : entries.toSpliced(index, 0, entry),
      });
      // The page may be gone by now, so the toast shows a failure and lets the user try again.
      save
        .mutateAsync(putBack)
        .catch((error: unknown) => showToast(errorText(error), { tone: 'danger', forMs: undoMs, undo: restore }));
    };
    showToast(texts.deleted, { forMs: undoMs, undo: restore });
  };
  /** A failure stays visible in the dialog and above the entries, from `save.error`. */
  const ignoreFailure = () => undefined;
  return (
    <Page
      title={words.common.knowledge}
      meta={
        knowledge.data === undefined
          ? undefined
          : format(texts.search[knowledge.data.embeddings.state], {
              done: knowledge.data.embeddings.done,
              total: knowledge.data.embeddings.total,
            })
      }
      actions={
        isAdmin && (
          <Button
            variant="primary"
            disabled={knowledge.data === undefined}
            onClick={() => setEditing({ entry: emptyEntry(), isNew: true })}
          >
            {texts.add}
          </Button>
        )
      }
    >
      <Loaded of={knowledge}>
        {({ entries, terms }) => (
          <div className="grid gap-3.5 xl:grid-cols-[minmax(0,1.5fr)_minmax(0,1fr)]">
            <Entries
              entries={entries}
              onEdit={(entry) => setEditing({ entry, isNew: false })}
              onDelete={(entry) => {
                remove(entry).catch(ignoreFailure);
              }}
              isBusy={save.isPending}
              error={editing === null ? save.error : null}
            />
            <div className="flex min-w-0 flex-col gap-3.5">
              <Unanswered
                onAnswer={({ id, question }) =>
                  setEditing({ entry: emptyEntry(question), isNew: true, unansweredId: id })
                }
              />
              <TryQuestion />
              <Terms terms={terms} />
            </div>
          </div>
        )}
      </Loaded>
      {editing !== null && (
        <EntryDialog
          entry={editing.entry}
          isNew={editing.isNew}
          isSaving={save.isPending}
          error={save.error}
          onSave={(entry) => {
            store(editing, entry).catch(ignoreFailure);
          }}
          onClose={() => {
            save.reset();
            setEditing(null);
          }}
        />
      )}
    </Page>
  );
}
