/** The part of a gamma-encoded sRGB channel that is light, from 0 to 1 (WCAG 2.2). */
const linearChannel = (part: number) => (part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);

/** Relative luminance of a colour such as `#0b5fff`, from 0 to 1. */
export function luminance(color: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => linearChannel(Number.parseInt(color.slice(at, at + 2), 16) / 255));
  return 0.2126 * (red ?? 0) + 0.7152 * (green ?? 0) + 0.0722 * (blue ?? 0);
}

/** Contrast of two colours such as `#0b5fff`, from 1 to 21; text needs at least 4.5. */
export function contrastRatio(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].toSorted((left, right) => left - right);
  return (lighter + 0.05) / (darker + 0.05);
}

/** Black or white, whichever has the higher contrast on a colour. */
export const contrastColor = (color: string): string =>
  contrastRatio(color, '#ffffff') >= contrastRatio(color, '#000000') ? '#ffffff' : '#000000';
