import { removeProfileText } from './colour-profile.ts';
import { damaged } from './damaged.ts';
import { orientationOf, buildOrientationExif } from './orientation.ts';
import { partCounter } from './parts.ts';
import type { CleanPicture } from './picture.ts';

const broken = () => damaged('WebP');
const pictureChunks = new Set(['VP8 ', 'VP8L', 'ALPH']);
/** Flags of a `VP8X` chunk: the other chunks in the file. */
const flags = { profile: 0x20, exif: 0x08, xmp: 0x04 };
const frameHeadBytes = 16;

function* chunksOf(data: Buffer, countPart: () => void): Generator<{ type: string; content: Buffer }> {
  let at = 0;
  while (at < data.length) {
    countPart();
    if (at + 8 > data.length) throw broken();
    const length = data.readUInt32LE(at + 4);
    if (at + 8 + length > data.length) throw broken();
    yield { type: data.toString('latin1', at, at + 4), content: data.subarray(at + 8, at + 8 + length) };
    at += 8 + length + (length % 2);
  }
}

function chunk(type: string, content: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.write(type, 0, 'latin1');
  head.writeUInt32LE(content.length, 4);
  return Buffer.concat([head, content, Buffer.alloc(content.length % 2)]);
}

/** Minimum length of the chunks that have a size. */
const sizedBytes: Record<string, number> = { VP8X: 10, VP8L: 5, 'VP8 ': 10 };

/** The size that a chunk has: the canvas (`VP8X`) and its picture each have one. */
function sizeOf(type: string, content: Buffer): { width: number; height: number } {
  if (content.length < (sizedBytes[type] ?? 0)) throw broken();
  switch (type) {
    case 'VP8X':
      return { width: content.readUIntLE(4, 3) + 1, height: content.readUIntLE(7, 3) + 1 };
    case 'VP8L': {
      const bits = content.readUInt32LE(1);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case 'VP8 ':
      return { width: content.readUInt16LE(6) & 0x3fff, height: content.readUInt16LE(8) & 0x3fff };
    default:
      return { width: 0, height: 0 };
  }
}

/** One frame of an animation. */
function cleanFrame(content: Buffer, countPart: () => void): Buffer {
  if (content.length < frameHeadBytes) throw broken();
  const kept = [...chunksOf(content.subarray(frameHeadBytes), countPart)].filter(({ type }) => pictureChunks.has(type));
  return Buffer.concat([
    content.subarray(0, frameHeadBytes),
    ...kept.map(({ type, content: inner }) => chunk(type, inner)),
  ]);
}

/**
 * Returns a WebP with the same picture, without XMP, unknown chunks, trailing data and EXIF, except for the
 * orientation.
 * @throws AppError `unsupported_media_type`.
 */
export function cleanWebp(file: Buffer): CleanPicture {
  const end = 8 + file.readUInt32LE(4);
  if (end > file.length || end < 12) throw broken();
  let header: Buffer | null = null;
  let profile: Buffer | null = null;
  let hasProfile = false;
  let orientation = 1;
  const pictures: Buffer[] = [];
  let hasPicture = false;
  let isAnimated = false;
  let width = 0;
  let height = 0;
  const countPart = partCounter('WebP');
  for (const { type, content } of chunksOf(file.subarray(12, end), countPart)) {
    const size = sizeOf(type, content);
    width = Math.max(width, size.width);
    height = Math.max(height, size.height);
    if (type === 'VP8X' && header === null) header = Buffer.from(content.subarray(0, 10));
    else if (type === 'ICCP') {
      if (!hasProfile) profile = removeProfileText(content);
      hasProfile = true;
    } else if (type === 'EXIF') {
      const isLabelled = content.toString('latin1', 0, 6) === 'Exif\0\0';
      orientation = orientationOf(isLabelled ? content.subarray(6) : content);
    } else if (type === 'ANIM') pictures.push(chunk(type, content.subarray(0, 6)));
    else if (type === 'ANMF') pictures.push(chunk(type, cleanFrame(content, countPart)));
    else if (pictureChunks.has(type)) pictures.push(chunk(type, content));
    isAnimated ||= type === 'ANIM' || type === 'ANMF';
    hasPicture ||= type === 'ANMF' || type === 'VP8 ' || type === 'VP8L';
  }
  if (!hasPicture) throw broken();
  const orientationExif = header === null ? null : buildOrientationExif(orientation);
  if (header !== null) {
    const rest = (header[0] as number) & ~(flags.profile | flags.exif | flags.xmp);
    header[0] = rest | (profile === null ? 0 : flags.profile) | (orientationExif === null ? 0 : flags.exif);
  }
  const body = Buffer.concat([
    Buffer.from('WEBP', 'latin1'),
    ...(header === null ? [] : [chunk('VP8X', header)]),
    ...(header === null || profile === null ? [] : [chunk('ICCP', profile)]),
    ...pictures,
    ...(orientationExif === null ? [] : [chunk('EXIF', orientationExif)]),
  ]);
  return { bytes: chunk('RIFF', body), size: { width, height, isAnimated } };
}
