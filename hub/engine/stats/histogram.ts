/**
 * Counts of latencies on a logarithmic scale: bucket n holds those from factor^n to factor^(n+1) milliseconds, so that a quantile
 * read from it is right to within half a bucket, 5 %.
 */

const factor = 1.1;

export type Histogram = Record<string, number>;

/** Adds the counts of one histogram to another. */
export function addHistogram(into: Histogram, from: Histogram): void {
  for (const [bucket, count] of Object.entries(from)) into[bucket] = (into[bucket] ?? 0) + count;
}

/** The latency that a share of all stays below, in milliseconds; null when there is none at all. */
export function quantile(histogram: Histogram, share: number): number | null {
  const buckets = Object.entries(histogram)
    .map(([bucket, count]) => [Number(bucket), count] as const)
    .toSorted(([left], [right]) => left - right);
  const total = buckets.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) return null;
  let seen = 0;
  for (const [bucket, count] of buckets) {
    seen += count;
    // The middle of the bucket, by the scale.
    if (seen >= share * total) return bucket === 0 ? 0.5 : Math.round(factor ** (bucket - 0.5) * 10) / 10;
  }
  return null;
}

/** SQL of the bucket of a span between two times. */
export const bucketSql = (from: string, to: string) =>
  `floor(ln(greatest(extract(epoch from ${to} - ${from}) * 1000, 0.999)) / ln(${factor}))::int + 1`;

/** The bucket of a latency in milliseconds, as the SQL has it. */
export const bucketOf = (ms: number): number => Math.floor(Math.log(Math.max(ms, 0.999)) / Math.log(factor)) + 1;
