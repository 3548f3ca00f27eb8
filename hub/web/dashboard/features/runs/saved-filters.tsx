import { useQuery, useQueryClient } from '@tanstack/react-query';
import { X } from 'lucide-react';
import { useEffect, useState } from 'react';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { background } from '../../../../../shared/web/background.ts';
import { query, useAction } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { reread } from '../../app/live-updates.tsx';
import { useTenantId } from '../../app/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { Field, Input } from '../../ui/form.tsx';
import { chip } from './filter-bar.tsx';
import { browserFiltersKey, filtersOfQuery, hasFilters, queryOf } from './filters.ts';
import type { RunFilters } from './filters.ts';

/** The page to which the filters belong. */
const path = '/app/runs';
const maxNameLength = 60;

/** Few browsers still have such filters, so their script is loaded when it is needed. Without it, the next visit tries again. */
const moveBrowserFilters = (tenantId: string): Promise<number> =>
  import('./browser-filters.ts').then(
    (module) => module.moveBrowserFilters(tenantId, path),
    () => 0,
  );

const isSame = (one: RunFilters, other: RunFilters) =>
  Object.entries({ ...one, ...other }).every(
    ([name, value]) => one[name as keyof RunFilters] === value && other[name as keyof RunFilters] === value,
  );

/** Asks for the name of a filter and saves it. */
function SaveDialog({ filters, onClose }: { filters: RunFilters; onClose: () => void }) {
  const { words } = useLanguage();
  const texts = words.runs;
  const cache = useQueryClient();
  const save = useAction('saveFilter', {
    onDone: () => {
      reread(cache, ['readSavedFilters']);
      onClose();
    },
  });
  return (
    <Dialog title={texts.saveFilterTitle} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const name = String(new FormData(event.currentTarget).get('name')).trim();
          if (name !== '') save.start({ body: { path, name, query: queryOf(filters) } });
        }}
      >
        <Field label={texts.filterName} hint={texts.saveFilterHint}>
          {(attributes) => <Input {...attributes} name="name" maxLength={maxNameLength} required autoFocus />}
        </Field>
        <ErrorNote error={save.error} />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>{words.common.cancel}</Button>
          <Button variant="primary" type="submit" isBusy={save.isPending}>
            {words.common.save}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** Filters that the user saved in the account. */
export function SavedFilters({ filters, onApply }: { filters: RunFilters; onApply: (filters: RunFilters) => void }) {
  const { words, format } = useLanguage();
  const texts = words.runs;
  const tenantId = useTenantId();
  const cache = useQueryClient();
  const { data, error } = useQuery(query('readSavedFilters'));
  const remove = useAction('deleteSavedFilter', { onDone: () => reread(cache, ['readSavedFilters']) });
  const [isNaming, setNaming] = useState(false);
  /** Filters of this browser for which the account has no place. */
  const [remaining, setRemaining] = useState(0);
  const saved = (data?.filters ?? []).filter((one) => one.path === path);
  const isLoaded = data !== undefined;
  // Before the list is requested: later, another tab may have moved them, and this list may be older than that.
  const [hadFilters] = useState(() => localStorage.getItem(browserFiltersKey(tenantId)) !== null);
  useEffect(() => {
    if (!isLoaded || !hadFilters) return;
    background(
      moveBrowserFilters(tenantId).then((left) => {
        setRemaining(left);
        reread(cache, ['readSavedFilters']);
      }),
    );
  }, [isLoaded, hadFilters, tenantId]);
  const isKnown = saved.some((one) => isSame(filtersOfQuery(one.query), filters));
  return (
    <>
      {saved.length > 0 && (
        <ul aria-label={texts.savedFilters} className="flex max-w-full min-w-0 flex-wrap gap-2">
          {saved.map((one) => (
            <li key={one.id} className="flex max-w-full min-w-0">
              <button
                type="button"
                className={`${chip} min-w-0 rounded-e-none! pe-2!`}
                aria-pressed={isSame(filtersOfQuery(one.query), filters)}
                onClick={() => onApply(filtersOfQuery(one.query))}
              >
                <bdi className="min-w-0 truncate">{visibleLine(one.name)}</bdi>
              </button>
              <button
                type="button"
                className={`${chip} rounded-s-none! border-s-0! px-2! text-text-muted`}
                aria-label={format(texts.deleteFilter, { name: visibleLine(one.name) })}
                onClick={() => remove.start({ params: { id: one.id } })}
              >
                <X size={14} aria-hidden />
              </button>
            </li>
          ))}
        </ul>
      )}
      {isLoaded && hasFilters(filters) && !isKnown && (
        <button type="button" className="px-1 py-1 text-sm text-accent hover:underline" onClick={() => setNaming(true)}>
          {texts.saveFilter}
        </button>
      )}
      {remaining > 0 && (
        <p className="w-full text-sm text-text-muted">{format(texts.filtersInBrowser, { count: remaining })}</p>
      )}
      <ErrorNote error={error ?? remove.error} />
      {isNaming && <SaveDialog filters={filters} onClose={() => setNaming(false)} />}
    </>
  );
}
