/** Prints rows under their columns. */
export function printTable(title: string, rows: Record<string, string>[]): void {
  const columns = Object.keys(rows[0] ?? {});
  const widths = columns.map((column) => Math.max(column.length, ...rows.map((row) => (row[column] ?? '').length)));
  const line = (cells: string[]) => `| ${cells.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join(' | ')} |`;
  process.stdout.write(
    `\n${title}\n\n${[line(columns), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...rows.map((row) => line(columns.map((column) => row[column] ?? '')))].join('\n')}\n`,
  );
}

/** A percentile of some samples. */
export function percentile(samples: number[], share: number): number {
  const sorted = samples.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const milliseconds = (value: number) => `${value.toFixed(1)} ms`;
