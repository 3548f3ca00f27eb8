import { Link } from '@tanstack/react-router';
import { useWords } from '../../app/language.tsx';
import { approvalFilters } from './search.ts';
import type { ApprovalFilter } from './search.ts';

/** Links to the approvals of each status. */
export function FilterTabs({ selected }: { selected: ApprovalFilter }) {
  const texts = useWords().approvals;
  return (
    <nav aria-label={texts.filter} className="mb-3 flex flex-wrap gap-1.5">
      {approvalFilters.map((filter) => (
        <Link
          key={filter}
          to="/approvals"
          search={filter === 'pending' ? {} : { status: filter }}
          aria-current={filter === selected ? 'page' : undefined}
          className={`rounded-full border px-3 py-1.5 text-sm font-semibold no-underline ${filter === selected ? 'border-accent bg-accent-muted text-accent' : 'bg-surface text-text-muted hover:text-text'}`}
        >
          {texts.filters[filter]}
        </Link>
      ))}
    </nav>
  );
}
