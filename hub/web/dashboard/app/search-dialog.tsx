import { useDeferredValue, useEffect, useState } from 'react';
import { visibleLine } from '../../../../shared/visible-text.ts';
import { background } from '../../../../shared/web/background.ts';
import { Dialog } from '../ui/dialog.tsx';
import { ErrorNote } from '../ui/error.tsx';
import { Input } from '../ui/form.tsx';
import { useLanguage } from './language.tsx';
import { useFound } from './use-found.ts';
import type { Found } from './use-found.ts';

/** Finds objects of the workspace by name or id, visitors, and messages. */
export function SearchDialog({ onClose }: { onClose: () => void }) {
  const { words } = useLanguage();
  const { common } = words;
  const [text, setText] = useState('');
  const [selected, setSelected] = useState(0);
  const [isEntered, setEntered] = useState(false);
  const q = useDeferredValue(text.trim());
  const { results, error, isLongEnough, isCurrent: isRead } = useFound(q);
  const open = (result: Found | undefined) => {
    if (result === undefined) return;
    onClose();
    background(result.open());
  };
  // Enter waits for the results of the text in the field.
  const isCurrent = isRead && q === text.trim();
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
          // The browser would only clear the field.
          if (event.key === 'Escape' && !event.nativeEvent.isComposing) {
            event.preventDefault();
            onClose();
          }
          const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
          if (step !== 0) {
            event.preventDefault();
            setSelected((index) => Math.max(0, Math.min(results.length - 1, index + step)));
          }
          if (event.key === 'Enter' && !event.nativeEvent.isComposing) setEntered(true);
        }}
      />
      <ErrorNote error={error} />
      <ul
        id="search-results"
        role="listbox"
        aria-label={common.search}
        className="mt-2 max-h-96 min-h-40 overflow-y-auto"
      >
        {results.map((result, index) => (
          <li
            key={`${result.type} ${result.id}`}
            id={`search-result-${index}`}
            role="option"
            aria-selected={index === selected}
            ref={(item) => (index === selected ? item?.scrollIntoView({ block: 'nearest' }) : undefined)}
            className="flex cursor-pointer items-baseline gap-2 rounded-(--radius-medium) px-2.5 py-1.5 hover:bg-hover aria-selected:bg-accent-muted"
            onClick={() => open(result)}
            // The keyboard works on the field above.
            onKeyDown={() => undefined}
          >
            <span className="min-w-0 truncate">{visibleLine(result.title)}</span>
            <span className="ms-auto text-sm whitespace-nowrap text-text-muted">{common.objectType[result.type]}</span>
          </li>
        ))}
      </ul>
      {results.length === 0 && (
        <p role="status" className="-mt-38 mb-32 px-2.5 text-text-muted">
          {!isLongEnough ? common.searchAfterTyping : isRead ? common.searchNothing : ''}
        </p>
      )}
    </Dialog>
  );
}
