import type { LinkProps } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useWords } from '../../app/language.tsx';
import { ButtonLink } from '../../ui/button.tsx';

/** A table whose rows are cards on small screens. `columns` is the class with the widths of the columns. */
export function StackedTable({
  label,
  columns,
  head,
  children,
}: {
  label: string;
  columns: string;
  head: readonly string[];
  children: ReactNode;
}) {
  return (
    <div role="table" aria-label={label}>
      <div
        role="row"
        className={`sr-only gap-4 border-b px-4 py-2 text-sm text-text-muted md:not-sr-only md:grid md:px-4! md:py-2! ${columns}`}
      >
        {head.map((text) => (
          <span key={text} role="columnheader" className="font-semibold">
            {text}
          </span>
        ))}
      </div>
      {children}
    </div>
  );
}

export function StackedRow({ columns, children }: { columns: string; children: ReactNode }) {
  return (
    <div role="row" className={`gap-4 border-b px-4 py-3 last:border-b-0 hover:bg-hover md:grid ${columns}`}>
      {children}
    </div>
  );
}

/** A cell with the name of its column, which small screens show. */
export function StackedCell({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div role="cell" className="flex min-w-0 gap-2 py-0.5 md:block md:py-0">
      <span aria-hidden className="w-24 shrink-0 text-sm text-text-muted md:hidden">
        {label}
      </span>
      <div className="min-w-0 flex-1">{children}</div>
    </div>
  );
}

/** Links to the next page of a list, and back to its first. The cursor is in the address. */
export function Pager({
  cursor,
  next,
  linkTo,
}: {
  cursor: string | undefined;
  next: string | null;
  linkTo: (cursor: string | undefined) => LinkProps;
}) {
  const { nodes } = useWords();
  if (cursor === undefined && next === null) return null;
  return (
    <div className="flex flex-wrap justify-center gap-2 border-t p-2">
      {cursor !== undefined && (
        <ButtonLink variant="quiet" {...linkTo(undefined)}>
          {nodes.newest}
        </ButtonLink>
      )}
      {next !== null && (
        <ButtonLink variant="quiet" {...linkTo(next)}>
          {nodes.older}
        </ButtonLink>
      )}
    </div>
  );
}
