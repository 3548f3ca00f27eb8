const micros = 1_000_000;

/** Writes an amount in millionths of a currency. Small amounts keep more digits, so that they do not read as zero. */
export function moneyOf(variant: string, { currency, micros: amount }: { currency: string; micros: number }): string {
  const value = amount / micros;
  return new Intl.NumberFormat(variant, {
    style: 'currency',
    currency,
    maximumFractionDigits: value !== 0 && Math.abs(value) < 1 ? 4 : 2,
  }).format(value);
}
