import type { ReactNode } from 'react';

/** Classes of a table whose rows are cards on small screens. */
const stacked =
  'max-md:block max-md:[&_tbody]:block max-md:[&_thead]:sr-only max-md:[&_tr]:block max-md:[&_tr]:px-3.5 max-md:[&_tr]:py-2.5 max-md:[&_td]:flex max-md:[&_td]:gap-2 max-md:[&_td]:px-0 max-md:[&_td]:py-0.5';

/**
 * A table that scrolls sideways on small screens. Without links or buttons in it, the keyboard scrolls it itself.
 * With `isStacked`, small screens show each row as a card instead, and its cells need a `label`.
 */
export function Table({
  head,
  children,
  isFocusable = false,
  isStacked = false,
}: {
  head: readonly ReactNode[];
  children: ReactNode;
  isFocusable?: boolean;
  isStacked?: boolean;
}) {
  return (
    // Texts for screen readers are positioned: without "relative" they widen the page instead of the table.
    <div className="relative overflow-x-auto" tabIndex={isFocusable ? 0 : undefined}>
      <table className={`w-full border-collapse text-start ${isStacked ? stacked : ''}`}>
        <thead>
          <tr className="border-b text-sm text-text-muted">
            {head.map((cell, index) => (
              <th key={index} scope="col" className="px-3.5 py-2 text-start font-semibold whitespace-nowrap">
                {cell}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

export function Row({ children, isSelected = false }: { children: ReactNode; isSelected?: boolean }) {
  return (
    <tr className={`border-b last:border-b-0 ${isSelected ? 'bg-accent-muted' : 'hover:bg-hover'}`}>{children}</tr>
  );
}

/** A cell. `note` is a second, smaller line, and `label` the name of the column on small screens; '' for no name. */
export function Cell({
  children,
  note,
  label,
  className = '',
}: {
  children: ReactNode;
  note?: ReactNode;
  label?: string;
  className?: string;
}) {
  const content = (
    <>
      {children}
      {note !== undefined && <div className="text-sm text-text-muted">{note}</div>}
    </>
  );
  return (
    <td className={`px-3.5 py-2 align-middle ${className}`}>
      {label === undefined ? (
        content
      ) : (
        <>
          {label !== '' && (
            <span aria-hidden className="w-28 shrink-0 text-start text-sm text-text-muted md:hidden">
              {label}
            </span>
          )}
          <div className="min-w-0 max-md:grow">{content}</div>
        </>
      )}
    </td>
  );
}
