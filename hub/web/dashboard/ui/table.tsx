import type { ReactNode } from 'react';

/** A table that scrolls sideways on small screens. Without links or buttons in it, the keyboard scrolls it itself. */
export function Table({
  head,
  children,
  isFocusable = false,
}: {
  head: readonly ReactNode[];
  children: ReactNode;
  isFocusable?: boolean;
}) {
  return (
    // Texts for screen readers are positioned: without "relative" they widen the page instead of the table.
    <div className="relative overflow-x-auto" tabIndex={isFocusable ? 0 : undefined}>
      <table className="w-full border-collapse text-start">
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

/** A cell. `note` is a second, smaller line. */
export function Cell({
  children,
  note,
  className = '',
}: {
  children: ReactNode;
  note?: ReactNode;
  className?: string;
}) {
  return (
    <td className={`px-3.5 py-2 align-middle ${className}`}>
      {children}
      {note !== undefined && <div className="text-sm text-text-muted">{note}</div>}
    </td>
  );
}
