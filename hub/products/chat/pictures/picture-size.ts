/** Size of a picture in pixels, and whether it is animated. */
export interface PictureSize {
  width: number;
  height: number;
  isAnimated: boolean;
}

/** Reads the size of a PNG, JPEG or WebP whose structure was checked before; null if the file has no size. */
export function pictureSize(contentType: string, file: Buffer): PictureSize | null {
  try {
    if (contentType === 'image/png') return pngSize(file);
    if (contentType === 'image/jpeg') return jpegSize(file);
    return contentType === 'image/webp' ? webpSize(file) : null;
  } catch (error) {
    // A size field lies beyond the end of the file.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

const pngSize = (file: Buffer): PictureSize => ({
  width: file.readUInt32BE(16),
  height: file.readUInt32BE(20),
  isAnimated: hasPngChunk(file, 'acTL'),
});

function hasPngChunk(file: Buffer, name: string): boolean {
  for (let at = 8; at + 8 <= file.length; at += 12 + file.readUInt32BE(at))
    if (file.toString('latin1', at + 4, at + 8) === name) return true;
  return false;
}

/** Markers from 0xC0 to 0xCF that do not begin a frame: Huffman tables, a reserved one, arithmetic conditioning. */
const notFrames = [0xc4, 0xc8, 0xcc];

function jpegSize(file: Buffer): PictureSize | null {
  for (let at = 2; at + 9 <= file.length; at += 2 + file.readUInt16BE(at + 2)) {
    const marker = file.readUInt8(at + 1);
    if (marker >= 0xc0 && marker <= 0xcf && !notFrames.includes(marker))
      return { height: file.readUInt16BE(at + 5), width: file.readUInt16BE(at + 7), isAnimated: false };
    // Compressed data follows, in which segments cannot be counted.
    if (marker === 0xda) return null;
  }
  return null;
}

/** The largest size of all parts. The canvas and its picture each have a size. */
function webpSize(file: Buffer): PictureSize | null {
  let width = 0;
  let height = 0;
  let isAnimated = false;
  for (let at = 12; at + 8 <= file.length;) {
    const type = file.toString('latin1', at, at + 4);
    const start = at + 8;
    const found = webpChunkSize(type, file, start);
    width = Math.max(width, found.width);
    height = Math.max(height, found.height);
    isAnimated ||= type === 'ANIM' || type === 'ANMF';
    const length = file.readUInt32LE(at + 4);
    at = start + length + (length % 2);
  }
  return width === 0 ? null : { width, height, isAnimated };
}

function webpChunkSize(type: string, file: Buffer, start: number): { width: number; height: number } {
  switch (type) {
    case 'VP8X':
      return { width: file.readUIntLE(start + 4, 3) + 1, height: file.readUIntLE(start + 7, 3) + 1 };
    case 'VP8L': {
      const bits = file.readUInt32LE(start + 1);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case 'VP8 ':
      return { width: file.readUInt16LE(start + 6) & 0x3fff, height: file.readUInt16LE(start + 8) & 0x3fff };
    default:
      return { width: 0, height: 0 };
  }
}
