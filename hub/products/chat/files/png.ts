import { crc32, deflateSync, inflateSync } from 'node:zlib';
import { maxProfileBytes, removeProfileText } from './colour-profile.ts';
import { damaged } from './damaged.ts';
import { orientationOf, buildOrientationExif } from './orientation.ts';
import { partCounter } from './parts.ts';
import type { CleanPicture } from './picture.ts';

const broken = () => damaged('PNG');
const headerBytes = 13;
export const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Chunks that affect how the picture looks. All other chunks are removed. */
const keptChunks = new Set(
  'IHDR PLTE IDAT IEND tRNS gAMA cHRM sRGB sBIT bKGD hIST pHYs cICP mDCV cLLI acTL fcTL fdAT'.split(' '),
);

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

function plainProfile(data: Buffer): Buffer[] {
  const end = data.indexOf(0);
  if (end === -1) return [];
  try {
    const profile = removeProfileText(inflateSync(data.subarray(end + 2), { maxOutputLength: maxProfileBytes }));
    return profile === null
      ? []
      : [chunk('iCCP', Buffer.concat([Buffer.from('profile\0\0', 'latin1'), deflateSync(profile)]))];
  } catch {
    return [];
  }
}

/**
 * Returns a PNG with the same picture, without texts, times, trailing data and EXIF, except for the orientation.
 * @throws AppError `unsupported_media_type`.
 */
export function cleanPng(file: Buffer): CleanPicture {
  const kept: Buffer[] = [pngSignature];
  let at = pngSignature.length;
  let orientation = 1;
  let width = 0;
  let height = 0;
  let isAnimated = false;
  let hasData = false;
  let hasProfile = false;
  const countPart = partCounter('PNG');
  for (let index = 0; ; index += 1) {
    countPart();
    if (at + 12 > file.length) throw broken();
    const end = at + 12 + file.readUInt32BE(at);
    if (end > file.length) throw broken();
    const type = file.toString('latin1', at + 4, at + 8);
    const data = file.subarray(at + 8, end - 4);
    if (crc32(file.subarray(at + 4, end - 4)) !== file.readUInt32BE(end - 4)) throw broken();
    if ((index === 0) !== (type === 'IHDR')) throw broken();
    if (type === 'IHDR') {
      if (data.length !== headerBytes) throw broken();
      width = data.readUInt32BE(0);
      height = data.readUInt32BE(4);
    }
    isAnimated ||= type === 'acTL';
    if (type === 'IDAT' && !hasData) {
      const orientationExif = buildOrientationExif(orientation);
      if (orientationExif !== null) kept.push(chunk('eXIf', orientationExif));
      hasData = true;
    }
    if (keptChunks.has(type)) kept.push(file.subarray(at, end));
    else if (type === 'iCCP' && !hasProfile && !hasData) {
      // A PNG has at most one colour profile. Others are not decompressed.
      hasProfile = true;
      kept.push(...plainProfile(data));
    } else if (type === 'eXIf') orientation = orientationOf(data);
    at = end;
    if (type === 'IEND') break;
  }
  if (!hasData) throw broken();
  return { bytes: Buffer.concat(kept), size: { width, height, isAnimated } };
}
