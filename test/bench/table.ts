/** Prints rows as a table. */
export function printTable(title: string, rows: Record<string, string>[]): void {
  const columns = Object.keys(rows[0] ?? {});
  const widths = columns.map((column) => Math.max(column.length, ...rows.map((row) => (row[column] ?? '').length)));
  const line = (cells: string[]) => `| ${cells.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join(' | ')} |`;
  process.stdout.write(
    `\n${title}\n\n${[line(columns), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...rows.map((row) => line(columns.map((column) => row[column] ?? '')))].join('\n')}\n`,
  );
}

/** The percentile of a list of samples. */
export function percentile(samples: number[], share: number): number {
  const sorted = samples.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const milliseconds = (value: number) => `${value.toFixed(1)} ms`;

/** Columns with the processor time per run. It is steadier than a rate if other programs use the machine. */
export function costColumns(
  before: { cpuSeconds: number; postgresSeconds: number },
  after: { cpuSeconds: number; postgresSeconds: number },
  count: number,
): Record<string, string> {
  const each = (seconds: number) => `${((seconds / count) * 1000).toFixed(2)} ms`;
  return {
    'hub, each': each(after.cpuSeconds - before.cpuSeconds),
    'PostgreSQL, each': each(after.postgresSeconds - before.postgresSeconds),
  };
}

/** Percentiles of the samples, and their difference to those of the baseline. */
export const compared = (what: string, samples: number[], baseline: number[] | null = null) => {
  const at = (share: number) => percentile(samples, share);
  const added = (share: number) => (baseline === null ? '' : milliseconds(at(share) - percentile(baseline, share)));
  return {
    what,
    p50: milliseconds(at(0.5)),
    p99: milliseconds(at(0.99)),
    'added p50': added(0.5),
    'added p99': added(0.99),
  };
};
