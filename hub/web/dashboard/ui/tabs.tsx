import { Link, useLocation } from '@tanstack/react-router';
import type { LinkProps } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import type { ReactNode } from 'react';

const tab =
  '-mb-px border-b-2 border-transparent px-1 py-2 font-semibold whitespace-nowrap text-text-muted no-underline hover:text-text';

/** Links to the parts of a page, with the present one underlined and scrolled into view. */
export function LinkTabs({ label, tabs }: { label: string; tabs: readonly { label: ReactNode; link: LinkProps }[] }) {
  const ref = useRef<HTMLElement>(null);
  const path = useLocation({ select: ({ pathname }) => pathname });
  useEffect(() => {
    ref.current?.querySelector('[aria-current=page]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [path]);
  return (
    <nav ref={ref} aria-label={label} className="mb-4 flex gap-4 overflow-x-auto border-b">
      {tabs.map(({ label: name, link }, index) => (
        <Link
          key={index}
          {...link}
          activeOptions={{ exact: true, includeSearch: false }}
          className={tab}
          activeProps={{ className: 'border-accent! text-accent!', 'aria-current': 'page' }}
        >
          {name}
        </Link>
      ))}
    </nav>
  );
}

/** Parts of a panel, of which one is shown. */
export function Tabs<Name extends string>({
  label,
  tabs,
  selected,
  onSelect,
}: {
  label: string;
  tabs: readonly { name: Name; label: ReactNode }[];
  selected: Name;
  onSelect: (name: Name) => void;
}) {
  return (
    <div role="tablist" aria-label={label} className="mb-3 flex gap-4 overflow-x-auto border-b">
      {tabs.map(({ name, label: text }) => (
        <button
          key={name}
          type="button"
          role="tab"
          aria-selected={name === selected}
          onClick={() => onSelect(name)}
          className={`${tab} aria-selected:border-accent aria-selected:text-accent`}
        >
          {text}
        </button>
      ))}
    </div>
  );
}
