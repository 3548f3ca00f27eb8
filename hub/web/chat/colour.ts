const channel = (part: number) => (part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);

/** Relative luminance of a colour such as `#0b5fff`, from 0 to 1. */
export function luminance(colour: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => channel(Number.parseInt(colour.slice(at, at + 2), 16) / 255));
  return 0.2126 * (red ?? 0) + 0.7152 * (green ?? 0) + 0.0722 * (blue ?? 0);
}

/** Black or white, whichever reads better on a colour. */
export function inkOn(colour: string): string {
  const light = luminance(colour);
  return 1.05 / (light + 0.05) >= (light + 0.05) / 0.05 ? '#ffffff' : '#000000';
}
