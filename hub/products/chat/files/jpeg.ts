import { removeProfileText } from './colour-profile.ts';
import { damaged } from './damaged.ts';
import { orientationOf, buildOrientationExif } from './orientation.ts';
import { partCounter } from './parts.ts';
import type { CleanPicture } from './picture.ts';

const broken = () => damaged('JPEG');
const profileLabel = Buffer.from('ICC_PROFILE\0', 'latin1');
const exifLabel = Buffer.from('Exif\0\0', 'latin1');
const jfifLabel = Buffer.from('JFIF\0', 'latin1');
const adobeLabel = Buffer.from('Adobe', 'latin1');
const maxSegmentBytes = 65_533;
/** Markers from 0xC0 to 0xCF that do not begin a frame: Huffman tables, a reserved one, arithmetic conditioning. */
const notFrames = [0xc4, 0xc8, 0xcc];
/** Precision, height, width and number of components. */
const frameHeadBytes = 6;

const startsWith = (data: Buffer, label: Buffer) => data.subarray(0, label.length).equals(label);

function segment(marker: number, data: Buffer): Buffer {
  const head = Buffer.from([0xff, marker, 0, 0]);
  head.writeUInt16BE(data.length + 2, 2);
  return Buffer.concat([head, data]);
}

function profileSegments(profile: Buffer): Buffer[] {
  const maxChunkBytes = maxSegmentBytes - profileLabel.length - 2;
  const count = Math.ceil(profile.length / maxChunkBytes);
  return Array.from({ length: count }, (_, index) =>
    segment(
      0xe2,
      Buffer.concat([
        profileLabel,
        Buffer.from([index + 1, count]),
        profile.subarray(index * maxChunkBytes, (index + 1) * maxChunkBytes),
      ]),
    ),
  );
}

/** The position of the next marker after the compressed data that starts at `from`. */
function endOfScan(file: Buffer, from: number): number {
  for (let at = file.indexOf(0xff, from); at !== -1; at = file.indexOf(0xff, at + 1)) {
    const next = file[at + 1];
    if (next === undefined) break;
    // An escaped byte, a restart marker or a fill byte.
    if (next === 0x00 || next === 0xff || (next >= 0xd0 && next <= 0xd7)) continue;
    return at;
  }
  throw broken();
}

/**
 * Returns a JPEG with the same picture, without comments, XMP, IPTC, previews, trailing data and EXIF, except for the
 * orientation.
 * @throws AppError `unsupported_media_type`.
 */
export function cleanJpeg(file: Buffer): CleanPicture {
  const kept: Buffer[] = [];
  const head: Buffer[] = [];
  const profile: Buffer[] = [];
  let orientation = 1;
  let width = 0;
  let height = 0;
  let hasFrame = false;
  let hasScan = false;
  const countPart = partCounter('JPEG');
  let at = 2;
  for (;;) {
    countPart();
    if (file[at] !== 0xff) throw broken();
    while (file[at + 1] === 0xff) at += 1;
    const marker = file[at + 1];
    if (marker === undefined) throw broken();
    at += 2;
    if (marker === 0xd9) break;
    if (at + 2 > file.length) throw broken();
    const end = at + file.readUInt16BE(at);
    if (end < at + 2 || end > file.length) throw broken();
    const data = file.subarray(at + 2, end);
    at = end;
    if (marker === 0xda) {
      const scanEnd = endOfScan(file, end);
      kept.push(segment(marker, data), file.subarray(end, scanEnd));
      hasScan = true;
      at = scanEnd;
    } else if (marker === 0xe0) {
      // The first 14 bytes are the JFIF header. A thumbnail may follow.
      if (startsWith(data, jfifLabel) && data.length >= 14) {
        const plain = Buffer.from(data.subarray(0, 14));
        plain.fill(0, 12, 14);
        head.push(segment(marker, plain));
      }
    } else if (marker === 0xe1) {
      if (startsWith(data, exifLabel)) orientation = orientationOf(data.subarray(exifLabel.length));
    } else if (marker === 0xe2) {
      if (startsWith(data, profileLabel)) profile.push(data.subarray(profileLabel.length + 2));
    } else if (marker === 0xee) {
      // The Adobe segment defines the colour transform.
      if (startsWith(data, adobeLabel)) head.push(segment(marker, data.subarray(0, 12)));
    } else if ((marker & 0xf0) !== 0xe0 && marker !== 0xfe) {
      if (marker >= 0xc0 && marker <= 0xcf && !notFrames.includes(marker)) {
        if (data.length < frameHeadBytes) throw broken();
        hasFrame = true;
        height = Math.max(height, data.readUInt16BE(1));
        width = Math.max(width, data.readUInt16BE(3));
      }
      kept.push(segment(marker, data));
    }
  }
  if (!hasFrame || !hasScan) throw broken();
  const orientationExif = buildOrientationExif(orientation);
  const colours = profile.length === 0 ? null : removeProfileText(Buffer.concat(profile));
  const bytes = Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    ...head,
    ...(orientationExif === null ? [] : [segment(0xe1, Buffer.concat([exifLabel, orientationExif]))]),
    ...(colours === null ? [] : profileSegments(colours)),
    ...kept,
    Buffer.from([0xff, 0xd9]),
  ]);
  return { bytes, size: { width, height, isAnimated: false } };
}
