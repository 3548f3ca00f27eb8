import { readFile } from 'node:fs/promises';

/** Width and height of a PNG or JPEG file in pixels, read from its header; an empty object for other files. */
export async function imageSize(
  file: string | Buffer,
): Promise<{ width: number; height: number } | Record<never, never>> {
  const bytes = typeof file === 'string' ? await readFile(file) : file;
  if (bytes.length > 24 && bytes.readUInt32BE(0) === 0x89504e47)
    return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xffd8) return {};
  for (let offset = 2; offset + 9 < bytes.length; offset += 2 + bytes.readUInt16BE(offset + 2)) {
    const marker = bytes.readUInt16BE(offset);
    const isFrame = marker >= 0xffc0 && marker <= 0xffcf && ![0xffc4, 0xffc8, 0xffcc].includes(marker);
    if (isFrame) return { height: bytes.readUInt16BE(offset + 5), width: bytes.readUInt16BE(offset + 7) };
  }
  return {};
}
