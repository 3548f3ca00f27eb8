import { damaged } from './damaged.ts';
import { partCounter } from './parts.ts';
import type { CleanPicture } from './picture.ts';

const broken = () => damaged('GIF');
/** Application extensions that set the loop count of an animation. */
const keptApplications = new Set(['NETSCAPE2.0', 'ANIMEXTS1.0']);

/** The end of the list of sub-blocks that starts at `from`. */
function endOfBlocks(file: Buffer, from: number): number {
  for (let at = from; ;) {
    const length = file[at];
    if (length === undefined) throw broken();
    at += length + 1;
    if (length === 0) return at;
  }
}

const colourBytes = (flags: number) => ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 0x07) + 1));

/**
 * Returns a GIF with the same pictures, without comments, XMP and trailing data.
 * @throws AppError `unsupported_media_type`.
 */
export function cleanGif(file: Buffer): CleanPicture {
  if (file.length < 13) throw broken();
  let at = 13 + colourBytes(file[10] as number);
  const kept: Buffer[] = [file.subarray(0, at)];
  let hasPicture = false;
  const countPart = partCounter('GIF');
  for (;;) {
    countPart();
    const start = at;
    const kind = file[at];
    if (kind === 0x3b) break;
    if (kind === 0x2c) {
      if (at + 10 > file.length) throw broken();
      // One byte after the colour table is the LZW code size.
      at = endOfBlocks(file, at + 10 + colourBytes(file[at + 9] as number) + 1);
      hasPicture = true;
      kept.push(file.subarray(start, at));
    } else if (kind === 0x21) {
      const label = file[at + 1];
      at = endOfBlocks(file, at + 2);
      const application = file.toString('latin1', start + 3, start + 14);
      if (label === 0xf9 || (label === 0xff && keptApplications.has(application))) kept.push(file.subarray(start, at));
    } else throw broken();
  }
  if (!hasPicture) throw broken();
  return { bytes: Buffer.concat([...kept, Buffer.from([0x3b])]), size: null };
}
