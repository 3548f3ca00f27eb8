import { unsupported } from './damaged.ts';
import { cleanGif } from './gif.ts';
import { cleanJpeg } from './jpeg.ts';
import { partCounter } from './parts.ts';
import { cleanPng, pngSignature } from './png.ts';
import { cleanWebp } from './webp.ts';

/** What a file is, and as which it is kept. */
export interface FileContent {
  contentType: string;
  /** As files of this kind end; the first is for those whose name says otherwise. */
  extensions: readonly [string, ...string[]];
  bytes: Buffer;
}

interface Kind {
  contentType: string;
  extensions: readonly [string, ...string[]];
  is: (file: Buffer) => boolean;
  clean?: (file: Buffer) => Buffer;
}

const textAt = (file: Buffer, start: number, end: number) => file.toString('latin1', start, end);
/** In how many of its last bytes a PDF says that it ends. */
const pdfTailBytes = 1_024;
/** In how many of its first bytes a file of the Matroska family says which one it is. */
const ebmlHeadBytes = 64;

/** What says of itself that it is only heard. */
const soundBrands = new Set(['M4A ', 'M4B ']);

/**
 * A file of the MPEG-4 family in which something is heard and nothing is seen: recorders of telephones name it by the
 * brand of films, too.
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
 * The first frame of an MP3 that has no tags before it: MPEG 1, 2 or 2.5, layer III, with a bit rate and a sample rate
 * that there are.
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
      // The name of a track's coding stands in its entry: a film has one of pictures, too.
      /A_(?:OPUS|VORBIS)/.test(textAt(file, 0, 65_536)) &&
      !/V_(?:VP[89]|AV1|MPEG|MS|THEORA|UNCOMPRESSED)/.test(textAt(file, 0, 65_536)),
  },
];

const utf8 = new TextDecoder('utf-8', { fatal: true });
/** All control characters but tab, new line, form feed and return. */
// oxlint-disable-next-line no-control-regex
const controls = /[\u0000-\u0008\u000b\u000e-\u001f\u007f]/;
/** What programs show and do not run. */
const textExtensions = ['txt', 'csv', 'tsv', 'md', 'log', 'json', 'yaml', 'yml', 'ini', 'srt', 'vtt'] as const;

function isText(file: Buffer): boolean {
  try {
    return !controls.test(utf8.decode(file));
  } catch {
    return false;
  }
}

/**
 * Tells by its content what a file is, and answers it as it may be kept: a picture without what else was in it.
 * @throws AppError `unsupported_media_type` for what is none of those that are taken.
 */
export function judgeContent(file: Buffer): FileContent {
  const kind = kinds.find(({ is }) => is(file));
  if (kind !== undefined)
    return { contentType: kind.contentType, extensions: kind.extensions, bytes: kind.clean?.(file) ?? file };
  if (isText(file)) return { contentType: 'text/plain', extensions: textExtensions, bytes: file };
  throw unsupported('What this file holds is not known here.');
}
