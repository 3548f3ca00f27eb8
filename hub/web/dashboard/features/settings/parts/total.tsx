/** A number with its name. */
export function Total({ label, value }: { label: string; value: string }) {
  return (
    <div className="min-w-28 flex-1">
      <p className="text-xl font-semibold tabular-nums">{value}</p>
      <p className="text-sm text-text-muted">{label}</p>
    </div>
  );
}
