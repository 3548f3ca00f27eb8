import { Link } from '@tanstack/react-router';
import { ChevronRight } from 'lucide-react';
import { useWords } from '../../app/language.tsx';
import { groups } from './sections.ts';
import type { SectionName } from './sections.ts';

/** The links to the sections, in groups. Phones show it as a page of its own. */
export function SectionList({ selected }: { selected: SectionName }) {
  const { common, settings } = useWords();
  return (
    <nav aria-label={common.settings} className="flex flex-col gap-3 md:sticky md:top-4">
      {groups.map(([group, names]) => (
        <div key={group}>
          <p id={`settings-${group}`} className="mb-0.5 px-2.5 text-xs font-semibold text-text-muted">
            {settings.groups[group]}
          </p>
          <ul
            aria-labelledby={`settings-${group}`}
            className="flex flex-col max-md:divide-y max-md:rounded-(--radius-large) max-md:border max-md:bg-surface md:gap-px"
          >
            {names.map((name) => (
              <li key={name}>
                <Link
                  to="/settings/{-$section}"
                  params={{ section: name }}
                  aria-current={name === selected ? 'page' : undefined}
                  className={`flex items-center gap-2 rounded-(--radius-medium) px-2.5 py-1.5 text-text no-underline hover:bg-hover max-md:py-3 ${name === selected ? 'md:bg-accent-muted md:font-semibold md:text-accent' : ''}`}
                >
                  {settings.sections[name].title}
                  <ChevronRight size={16} aria-hidden className="ms-auto text-text-muted rtl:-scale-x-100 md:hidden" />
                </Link>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}
