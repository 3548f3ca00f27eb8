import { Pencil, Trash2 } from 'lucide-react';
import { useDeferredValue, useState } from 'react';
import type { KnowledgeEntry } from '../../../../../shared/client/operations.ts';
import { visibleLine, visibleText } from '../../../../../shared/visible-text.ts';
import { useLanguage } from '../../app/language.tsx';
import { useIsAdmin } from '../../app/session.tsx';
import { Button, IconButton } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { Input } from '../../ui/form.tsx';
import { Card, Empty } from '../../ui/layout.tsx';

/** Entries that the page shows before the reader asks for more. A workspace has up to 5,000. */
const step = 50;

function matches({ id, question, answer }: KnowledgeEntry, text: string): boolean {
  return [id, question, answer].some((part) => part.toLowerCase().includes(text));
}

/** The entries, with a filter. */
export function Entries({
  entries,
  onEdit,
  onDelete,
  isBusy,
  error,
}: {
  entries: readonly KnowledgeEntry[];
  onEdit: (entry: KnowledgeEntry) => void;
  onDelete: (entry: KnowledgeEntry) => void;
  isBusy: boolean;
  error: Error | null;
}) {
  const { words, format } = useLanguage();
  const texts = words.knowledge;
  const isAdmin = useIsAdmin();
  const [filter, setFilter] = useState('');
  const [shown, setShown] = useState(step);
  const text = useDeferredValue(filter.trim().toLowerCase());
  const found = entries.filter((entry) => matches(entry, text));
  if (entries.length === 0)
    return (
      <Card>
        <Empty title={texts.empty}>{texts.emptyText}</Empty>
      </Card>
    );
  return (
    <Card>
      <div className="flex items-center gap-3 border-b p-3">
        <Input
          type="search"
          aria-label={texts.filter}
          placeholder={texts.filter}
          value={filter}
          onChange={(event) => setFilter(event.target.value)}
        />
        <span role="status" className="text-sm whitespace-nowrap text-text-muted">
          {format(texts.matching, { count: found.length, total: entries.length })}
        </span>
      </div>
      <ErrorNote error={error} />
      <ul aria-label={texts.entries}>
        {found.slice(0, shown).map((entry) => (
          <li key={entry.id} className="flex items-start gap-2 border-b px-4 py-2.5 last:border-b-0">
            <div className="min-w-0 flex-1">
              <p className="font-semibold wrap-anywhere">
                {visibleLine(entry.question)}
                {entry.locale !== null && <span className="ms-2 font-normal text-text-muted">{entry.locale}</span>}
              </p>
              <p className="line-clamp-3 text-sm wrap-anywhere whitespace-pre-wrap text-text-muted">
                {visibleText(entry.answer)}
              </p>
            </div>
            {isAdmin && (
              <>
                <IconButton
                  label={`${words.common.edit}: ${visibleLine(entry.question)}`}
                  onClick={() => onEdit(entry)}
                >
                  <Pencil size={16} aria-hidden />
                </IconButton>
                <IconButton
                  label={`${words.common.delete}: ${visibleLine(entry.question)}`}
                  disabled={isBusy}
                  onClick={() => onDelete(entry)}
                >
                  <Trash2 size={16} aria-hidden />
                </IconButton>
              </>
            )}
          </li>
        ))}
      </ul>
      {found.length > shown && (
        <div className="p-3 text-center">
          <Button onClick={() => setShown(shown + step)}>{words.common.more}</Button>
        </div>
      )}
    </Card>
  );
}
