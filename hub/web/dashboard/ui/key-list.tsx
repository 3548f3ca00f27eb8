/** Keys with what they do. Several keys of one entry have the same effect, or are pressed together. */
export type KeyEntry = readonly [keys: readonly string[], label: string];

export function KeyList({ entries }: { entries: readonly KeyEntry[] }) {
  return (
    <dl className="grid grid-cols-[minmax(5rem,auto)_minmax(0,1fr)] items-baseline gap-x-4 gap-y-1.5">
      {entries.map(([keys, label]) => (
        <div key={`${keys.join()} ${label}`} className="contents">
          <dt className="flex gap-1">
            {keys.map((key) => (
              <kbd key={key} className="rounded-(--radius-small) border bg-surface-muted px-1.5">
                {key}
              </kbd>
            ))}
          </dt>
          <dd>{label}</dd>
        </div>
      ))}
    </dl>
  );
}
