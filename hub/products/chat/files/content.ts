import { unsupported } from './damaged.ts';
import { cleanGif } from './gif.ts';
import { cleanJpeg } from './jpeg.ts';
import { partCounter } from './parts.ts';
import type { CleanPicture, PictureSize } from './picture.ts';
import { cleanPng, pngSignature } from './png.ts';
import { cleanWebp } from './webp.ts';

/** The detected type of a file and the bytes to store. */
export interface FileContent {
  contentType: string;
  /** Allowed extensions. The first one replaces any other extension. */
  extensions: readonly [string, ...string[]];
  bytes: Buffer;
  /** The size of a PNG, JPEG or WebP; null for another file. */
  size: PictureSize | null;
}

interface Kind {
  contentType: string;
  extensions: readonly [string, ...string[]];
  is: (file: Buffer) => boolean;
  clean?: (file: Buffer) => CleanPicture;
}

const textAt = (file: Buffer, start: number, end: number) => file.toString('latin1', start, end);
/** A PDF has its end marker within its last bytes of this number. */
const pdfTailBytes = 1_024;
/** A Matroska file names its type within its first bytes of this number. */
const ebmlHeadBytes = 64;

/** MPEG-4 brands of audio-only files. */
const soundBrands = new Set(['M4A ', 'M4B ']);

/**
 * Whether an MPEG-4 file has audio and no video. Telephone recorders also use the brands of video files.
 */
function isMp4Sound(file: Buffer): boolean {
  if (textAt(file, 4, 8) !== 'ftyp') return false;
  if (soundBrands.has(textAt(file, 8, 12))) return true;
  const countPart = partCounter('MP4');
  let hasSound = false;
  for (let at = file.indexOf('hdlr', 0, 'latin1'); at !== -1; at = file.indexOf('hdlr', at + 4, 'latin1')) {
    countPart();
    const track = textAt(file, at + 12, at + 16);
    if (track === 'vide') return false;
    hasSound ||= track === 'soun';
  }
  return hasSound;
}

/**
 * The first frame of an MP3 without tags: MPEG 1, 2 or 2.5, layer III, with a valid bit rate and sample rate.
 */
const isMp3Frame = (file: Buffer) =>
  file.length > 4 &&
  file[0] === 0xff &&
  [0xfb, 0xfa, 0xf3, 0xf2, 0xe3, 0xe2].includes(file[1] as number) &&
  (file[2] as number) >> 4 !== 0x0f &&
  (file[2] as number) >> 4 !== 0 &&
  ((file[2] as number) & 0x0c) !== 0x0c;

const kinds: readonly Kind[] = [
  {
    contentType: 'image/png',
    extensions: ['png', 'apng'],
    is: (file) => file.subarray(0, 8).equals(pngSignature),
    clean: cleanPng,
  },
  {
    contentType: 'image/jpeg',
    extensions: ['jpg', 'jpeg', 'jpe', 'jfif'],
    is: (file) => file[0] === 0xff && file[1] === 0xd8 && file[2] === 0xff,
    clean: cleanJpeg,
  },
  {
    contentType: 'image/gif',
    extensions: ['gif'],
    is: (file) => ['GIF87a', 'GIF89a'].includes(textAt(file, 0, 6)),
    clean: cleanGif,
  },
  {
    contentType: 'image/webp',
    extensions: ['webp'],
    is: (file) => textAt(file, 0, 4) === 'RIFF' && textAt(file, 8, 12) === 'WEBP',
    clean: cleanWebp,
  },
  {
    contentType: 'application/pdf',
    extensions: ['pdf'],
    is: (file) =>
      /^%PDF-[12]\.\d/.test(textAt(file, 0, 8)) && file.subarray(-pdfTailBytes).includes('%%EOF', 0, 'latin1'),
  },
  {
    contentType: 'audio/mpeg',
    extensions: ['mp3'],
    is: (file) => (textAt(file, 0, 3) === 'ID3' && (file[3] ?? 0xff) <= 4) || isMp3Frame(file),
  },
  { contentType: 'audio/ogg', extensions: ['ogg', 'oga', 'opus'], is: (file) => textAt(file, 0, 5) === 'OggS\0' },
  {
    contentType: 'audio/wav',
    extensions: ['wav'],
    is: (file) => textAt(file, 0, 4) === 'RIFF' && textAt(file, 8, 16) === 'WAVEfmt ',
  },
  {
    contentType: 'audio/mp4',
    extensions: ['m4a', 'm4b'],
    is: isMp4Sound,
  },
  {
    contentType: 'audio/webm',
    extensions: ['weba', 'webm'],
    is: (file) =>
      file.subarray(0, 4).equals(Buffer.from([0x1a, 0x45, 0xdf, 0xa3])) &&
      textAt(file, 0, ebmlHeadBytes).includes('webm') &&
      // Each track names its codec. A video file also has a video codec.
      /A_(?:OPUS|VORBIS)/.test(textAt(file, 0, 65_536)) &&
      !/V_(?:VP[89]|AV1|MPEG|MS|THEORA|UNCOMPRESSED)/.test(textAt(file, 0, 65_536)),
  },
];

const utf8 = new TextDecoder('utf-8', { fatal: true });
/** All control characters but tab, new line, form feed and return. */
// oxlint-disable-next-line no-control-regex
const controls = /[\u0000-\u0008\u000b\u000e-\u001f\u007f]/;
/** Plain text: programs display it and do not run it. */
const textExtensions = ['txt', 'csv', 'tsv', 'md', 'log', 'json', 'yaml', 'yml', 'ini', 'srt', 'vtt'] as const;

function isText(file: Buffer): boolean {
  try {
    return !controls.test(utf8.decode(file));
  } catch {
    return false;
  }
}

/**
 * Detects the type of a file by its content. Returns the bytes to store: pictures without metadata. Pictures are not
 * decoded, so their pixels stay the same, and the memory depends only on the size of the file. The library `sharp`
 * decodes: it takes 14 s and 2 GB for a WebP of 38 bytes, encodes photos anew, and drops the animation of a PNG.
 * @throws AppError `unsupported_media_type` for any other type.
 */
export function scanContent(file: Buffer): FileContent {
  const unchanged = { bytes: file, size: null };
  const kind = kinds.find(({ is }) => is(file));
  if (kind !== undefined)
    return { contentType: kind.contentType, extensions: kind.extensions, ...(kind.clean?.(file) ?? unchanged) };
  if (isText(file)) return { contentType: 'text/plain', extensions: textExtensions, ...unchanged };
  throw unsupported('What this file holds is not known here.');
}
