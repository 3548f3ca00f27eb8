import { X } from 'lucide-react';
import { useState } from 'react';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { useLanguage } from '../../app/language.tsx';
import { useTenantId } from '../../app/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, Input } from '../../ui/form.tsx';
import { chip } from './filter-bar.tsx';
import { filtersOf, hasFilters, readRunSearch } from './filters.ts';
import type { RunFilters } from './filters.ts';

interface SavedFilter {
  name: string;
  filters: RunFilters;
}

const maxSaved = 20;
const storageKeyOf = (tenantId: string) => `outrigger.runs.filters.${tenantId}`;

function readSaved(tenantId: string): SavedFilter[] {
  try {
    const list = JSON.parse(localStorage.getItem(storageKeyOf(tenantId)) ?? '[]') as SavedFilter[];
    return list.map(({ name, filters }) => ({
      name: String(name),
      filters: filtersOf(readRunSearch(filters as Record<string, unknown>)),
    }));
  } catch {
    return [];
  }
}

const isSame = (one: RunFilters, other: RunFilters) =>
  Object.entries({ ...one, ...other }).every(
    ([name, value]) => one[name as keyof RunFilters] === value && other[name as keyof RunFilters] === value,
  );

/** Filters that the user stored in this browser. */
export function SavedFilters({ filters, onApply }: { filters: RunFilters; onApply: (filters: RunFilters) => void }) {
  const { words, format } = useLanguage();
  const texts = words.runs;
  const tenantId = useTenantId();
  const [saved, setSaved] = useState(() => readSaved(tenantId));
  const [isNaming, setNaming] = useState(false);
  const store = (list: SavedFilter[]) => {
    localStorage.setItem(storageKeyOf(tenantId), JSON.stringify(list));
    setSaved(list);
  };
  const isKnown = saved.some((one) => isSame(one.filters, filters));
  return (
    <>
      {saved.length > 0 && (
        <ul aria-label={texts.savedFilters} className="flex flex-wrap gap-2">
          {saved.map((one) => (
            <li key={one.name} className="flex">
              <button
                type="button"
                className={`${chip} rounded-e-none! pe-2!`}
                aria-pressed={isSame(one.filters, filters)}
                onClick={() => onApply(one.filters)}
              >
                {visibleLine(one.name)}
              </button>
              <button
                type="button"
                className={`${chip} rounded-s-none! border-s-0! px-2! text-text-muted`}
                aria-label={format(texts.deleteFilter, { name: visibleLine(one.name) })}
                onClick={() => store(saved.filter((other) => other !== one))}
              >
                <X size={14} aria-hidden />
              </button>
            </li>
          ))}
        </ul>
      )}
      {hasFilters(filters) && !isKnown && (
        <button type="button" className="px-1 py-1 text-sm text-accent hover:underline" onClick={() => setNaming(true)}>
          {texts.saveFilter}
        </button>
      )}
      {isNaming && (
        <Dialog title={texts.saveFilterTitle} onClose={() => setNaming(false)}>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              const name = String(new FormData(event.currentTarget).get('name')).trim();
              if (name === '') return;
              store([...saved.filter((one) => one.name !== name), { name, filters }].slice(-maxSaved));
              setNaming(false);
            }}
          >
            <Field label={texts.filterName} hint={texts.saveFilterHint}>
              {(attributes) => <Input {...attributes} name="name" maxLength={60} required autoFocus />}
            </Field>
            <div className="flex justify-end gap-2">
              <Button onClick={() => setNaming(false)}>{words.common.cancel}</Button>
              <Button variant="primary" type="submit">
                {words.common.save}
              </Button>
            </div>
          </form>
        </Dialog>
      )}
    </>
  );
}
