import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useDeferredValue, useEffect, useState } from 'react';
import type { SearchResult } from '../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../shared/visible-text.ts';
import { background } from '../../../../shared/web/background.ts';
import { Dialog } from '../ui/dialog.tsx';
import { ErrorNote } from '../ui/error.tsx';
import { Input } from '../ui/form.tsx';
import { query } from './api.ts';
import { useLanguage } from './language.tsx';
import { useTenantId } from './session.tsx';

const pathOf: Record<SearchResult['type'], (id: string) => string> = {
  workflow: (id) => `/workflows/${id}`,
  sequence: (id) => `/sequences/${id}`,
  agent: (id) => `/agents/${id}`,
  node: (id) => `/nodes/${id}`,
  channel: () => '/settings/channels',
  run: (id) => `/runs/${id}`,
  approval: (id) => `/approvals/${id}`,
};
const minCharacters = 2;

/** Finds objects of the workspace by name or id. */
export function SearchDialog({ onClose }: { onClose: () => void }) {
  const { words } = useLanguage();
  const { common } = words;
  const tenantId = useTenantId();
  const navigate = useNavigate();
  const [text, setText] = useState('');
  const [selected, setSelected] = useState(0);
  const [isEntered, setEntered] = useState(false);
  const q = useDeferredValue(text.trim());
  const { data, error, isPlaceholderData } = useQuery({
    ...query('searchWorkspace', { params: { tenantId }, query: { q, limit: 6 } }),
    enabled: q.length >= minCharacters,
    placeholderData: (previous) => previous,
  });
  const results = q.length < minCharacters ? [] : (data?.data ?? []);
  const open = (result: SearchResult | undefined) => {
    if (result === undefined) return;
    onClose();
    background(navigate({ to: pathOf[result.type](result.id) }));
  };
  // Enter waits for the results of the text in the field.
  const isCurrent = data !== undefined && !isPlaceholderData && q === text.trim();
  const entered = isEntered && isCurrent ? results[selected] : undefined;
  useEffect(() => open(entered), [entered]);
  return (
    <Dialog title={common.search} onClose={onClose}>
      <Input
        type="search"
        role="combobox"
        aria-label={common.search}
        aria-expanded={results.length > 0}
        aria-controls="search-results"
        aria-activedescendant={results.length > 0 ? `search-result-${selected}` : undefined}
        placeholder={common.searchHint}
        autoFocus
        value={text}
        onChange={(event) => {
          setEntered(false);
          setText(event.target.value);
          setSelected(0);
        }}
        onKeyDown={(event) => {
          const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
          if (step !== 0) {
            event.preventDefault();
            setSelected((index) => Math.max(0, Math.min(results.length - 1, index + step)));
          }
          if (event.key === 'Enter' && !event.nativeEvent.isComposing) setEntered(true);
        }}
      />
      <ErrorNote error={error} />
      <ul id="search-results" role="listbox" aria-label={common.search} className="mt-2 min-h-40">
        {results.map((result, index) => (
          <li
            key={`${result.type} ${result.id}`}
            id={`search-result-${index}`}
            role="option"
            aria-selected={index === selected}
            className="flex cursor-pointer items-baseline gap-2 rounded-(--radius-medium) px-2.5 py-1.5 hover:bg-hover aria-selected:bg-accent-muted"
            onClick={() => open(result)}
            // The keyboard works on the field above.
            onKeyDown={() => undefined}
          >
            <span className="min-w-0 truncate">{visibleLine(result.title)}</span>
            <span className="ms-auto text-sm whitespace-nowrap text-text-muted">{common.resultType[result.type]}</span>
          </li>
        ))}
      </ul>
      {results.length === 0 && (
        <p role="status" className="-mt-38 mb-32 px-2.5 text-text-muted">
          {q.length < minCharacters ? common.searchAfterTyping : data === undefined ? '' : common.searchNothing}
        </p>
      )}
    </Dialog>
  );
}
