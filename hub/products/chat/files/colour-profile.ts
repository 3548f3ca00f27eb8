const headerBytes = 128;
const tagBytes = 12;
/**
 * Those of printers have a few hundred thousand bytes, and some dozen tags; what is larger is none that a picture
 * needs.
 */
export const maxProfileBytes = 1024 * 1024;
const maxTags = 100;
/** Of the header: when and by what it was made, and for which device. */
const personal: readonly [start: number, end: number][] = [
  [24, 36],
  [48, 56],
  [80, 100],
];
const textTypes = new Set(['text', 'desc', 'mluc', 'dict']);

/**
 * A colour profile without what it says in words, such as the name of a screen; its colours stay. Null for what is
 * none, or too large.
 */
export function withoutWords(profile: Buffer): Buffer | null {
  if (profile.length < headerBytes + 4 || profile.length > maxProfileBytes) return null;
  if (profile.toString('latin1', 36, 40) !== 'acsp') return null;
  const count = profile.readUInt32BE(headerBytes);
  if (count > maxTags) return null;
  const words: [start: number, end: number][] = [];
  for (let index = 0; index < count; index += 1) {
    const entry = headerBytes + 4 + index * tagBytes;
    if (entry + tagBytes > profile.length) return null;
    const start = profile.readUInt32BE(entry + 4);
    const end = start + profile.readUInt32BE(entry + 8);
    if (start < headerBytes || end > profile.length || end - start < 8) return null;
    if (textTypes.has(profile.toString('latin1', start, start + 4))) words.push([start + 8, end]);
  }
  const cleaned = Buffer.from(profile);
  for (const [start, end] of personal) cleaned.fill(0, start, end);
  let wipedTo = 0;
  for (const [start, end] of words.toSorted(([a], [b]) => a - b)) {
    if (end > wipedTo) cleaned.fill(0, Math.max(start, wipedTo), end);
    wipedTo = Math.max(wipedTo, end);
  }
  return cleaned;
}
