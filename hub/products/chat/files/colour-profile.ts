const headerBytes = 128;
const tagBytes = 12;
/**
 * Printer profiles have a few hundred thousand bytes and some dozen tags. Larger profiles are removed.
 */
export const maxProfileBytes = 1024 * 1024;
const maxTags = 100;
/** Header fields with the creation time, the creator and the device. */
const personal: readonly [start: number, end: number][] = [
  [24, 36],
  [48, 56],
  [80, 100],
];
const textTypes = new Set(['text', 'desc', 'mluc', 'dict']);

/**
 * Returns a colour profile without texts, such as the name of a screen, and without personal header fields. Returns
 * null if the profile is invalid or too large.
 */
export function removeProfileText(profile: Buffer): Buffer | null {
  if (profile.length < headerBytes + 4 || profile.length > maxProfileBytes) return null;
  if (profile.toString('latin1', 36, 40) !== 'acsp') return null;
  const count = profile.readUInt32BE(headerBytes);
  if (count > maxTags) return null;
  const textRanges: [start: number, end: number][] = [];
  for (let index = 0; index < count; index += 1) {
    const entry = headerBytes + 4 + index * tagBytes;
    if (entry + tagBytes > profile.length) return null;
    const start = profile.readUInt32BE(entry + 4);
    const end = start + profile.readUInt32BE(entry + 8);
    if (start < headerBytes || end > profile.length || end - start < 8) return null;
    if (textTypes.has(profile.toString('latin1', start, start + 4))) textRanges.push([start + 8, end]);
  }
  const cleaned = Buffer.from(profile);
  for (const [start, end] of personal) cleaned.fill(0, start, end);
  let wipedTo = 0;
  for (const [start, end] of textRanges.toSorted(([a], [b]) => a - b)) {
    if (end > wipedTo) cleaned.fill(0, Math.max(start, wipedTo), end);
    wipedTo = Math.max(wipedTo, end);
  }
  return cleaned;
}
