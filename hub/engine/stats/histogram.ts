/**
 * Latency counts on a logarithmic scale. Bucket n counts latencies from factor^(n-1) to factor^n milliseconds, bucket 0 those
 * below 1 ms. The error of a quantile above 1 ms is at most half a bucket, 5 %.
 */

const factor = 1.1;

export type Histogram = Record<string, number>;

/** Adds the counts of one histogram to another. */
export function addHistogram(target: Histogram, source: Histogram): void {
  for (const [bucket, count] of Object.entries(source)) target[bucket] = (target[bucket] ?? 0) + count;
}

/** The latency that a share of all latencies does not exceed, in milliseconds. Null for an empty histogram. */
export function quantile(histogram: Histogram, share: number): number | null {
  const buckets = Object.entries(histogram)
    .map(([bucket, count]) => [Number(bucket), count] as const)
    .toSorted(([left], [right]) => left - right);
  const total = buckets.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) return null;
  let cumulative = 0;
  for (const [bucket, count] of buckets) {
    cumulative += count;
    // The middle of the bucket on the logarithmic scale.
    if (cumulative >= share * total) return bucket === 0 ? 0.5 : Math.round(factor ** (bucket - 0.5) * 10) / 10;
  }
  return null;
}

/** The bucket of the time between two instants, as SQL. */
export const bucketSql = (from: string, to: string) =>
  `floor(ln(greatest(extract(epoch from ${to} - ${from}) * 1000, 0.999)) / ln(${factor}))::int + 1`;

/** The bucket of a latency in milliseconds. Equal to the result of `bucketSql`. */
export const bucketOf = (ms: number): number => Math.floor(Math.log(Math.max(ms, 0.999)) / Math.log(factor)) + 1;
