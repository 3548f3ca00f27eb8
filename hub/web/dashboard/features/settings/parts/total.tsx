import type { BarColour } from './day-bars.tsx';

/** A number with its name, and the colour of its bars. */
export function Total({ label, value, colour }: { label: string; value: string; colour?: BarColour }) {
  return (
    <div className="min-w-28 flex-1">
      <p className="text-xl font-semibold tabular-nums">{value}</p>
      <p className="flex items-center gap-1.5 text-sm text-text-muted">
        {colour !== undefined && <span aria-hidden className={`size-2.5 rounded-xs ${colour}`} />}
        {label}
      </p>
    </div>
  );
}
