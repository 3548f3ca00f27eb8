import { convertIndexedToRgb, decode as decodePng } from 'fast-png';
import jpeg from 'jpeg-js';
import { CommandError } from './commands/handler.ts';

/** A picture in memory, row by row: four bytes for each pixel (red, green, blue, unused). */
export interface Picture {
  width: number;
  height: number;
  rgba: Uint8Array;
}

export type PictureFault = 'black' | 'one_colour';

/** The size of an 8K screen. Larger pictures are refused. */
const maxMegapixels = 40;
const maxMemoryMegabytes = 512;
const maxSmallWidth = 640;
const maxSmallHeight = 960;
const maxSmallBytes = 200 * 1000;

/** Reads a PNG or JPEG. @throws CommandError `failed` when it is neither, or broken. */
export function decodePicture(bytes: Buffer): Picture {
  try {
    return bytes.length > 8 && bytes.readUInt32BE(0) === 0x89504e47 ? fromPng(bytes) : fromJpeg(bytes);
  } catch (error) {
    throw new CommandError('failed', `What was captured is no picture: ${(error as Error).message}`, { cause: error });
  }
}

function fromJpeg(bytes: Buffer): Picture {
  const { width, height, data } = jpeg.decode(bytes, {
    useTArray: true,
    maxResolutionInMP: maxMegapixels,
    maxMemoryUsageInMB: maxMemoryMegabytes,
  });
  return { width, height, rgba: data };
}

function fromPng(bytes: Buffer): Picture {
  const [width, height] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  if (width * height > maxMegapixels * 1_000_000) throw new Error(`${width}x${height} pixels are too many`);
  const png = decodePng(bytes);
  const data = png.palette === undefined ? png.data : convertIndexedToRgb(png);
  const channels = Math.round(data.length / (width * height));
  const shift = png.palette === undefined && png.depth === 16 ? 8 : 0;
  const isGrey = channels < 3;
  const rgba = new Uint8Array(width * height * 4);
  for (let from = 0, to = 0; to < rgba.length; from += channels, to += 4) {
    for (let channel = 0; channel < 3; channel += 1)
      rgba[to + channel] = (data[from + (isGrey ? 0 : channel)] ?? 0) >> shift;
    rgba[to + 3] = 255;
  }
  return { width, height, rgba };
}

/** Tolerance around the main colour of a screen, and the largest area that may differ: the mouse pointer. */
const screenTolerance = 2;
const pointerPixels = 64;
/** Tolerances for cameras, whose sensors add noise. */
const cameraTolerance = 16;
const cameraShare = 0.005;
const blackest = 24;

/** Why a picture shows nothing: it is black or of one colour. Null for a picture that shows something. */
export function faultOf({ width, height, rgba }: Picture, source: 'screen' | 'camera'): PictureFault | null {
  const colour = [0, 1, 2].map((channel) => medianOf(rgba, channel)) as [number, number, number];
  const tolerance = source === 'screen' ? screenTolerance : cameraTolerance;
  let differing = 0;
  let [left, right, top, bottom] = [width, -1, height, -1];
  for (let y = 0, at = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1, at += 4) {
      const isSame =
        Math.abs((rgba[at] as number) - colour[0]) <= tolerance &&
        Math.abs((rgba[at + 1] as number) - colour[1]) <= tolerance &&
        Math.abs((rgba[at + 2] as number) - colour[2]) <= tolerance;
      if (isSame) continue;
      differing += 1;
      if (x < left) left = x;
      if (x > right) right = x;
      if (y < top) top = y;
      if (y > bottom) bottom = y;
    }
  }
  const showsNothing =
    source === 'screen'
      ? right - left < pointerPixels && bottom - top < pointerPixels
      : differing <= width * height * cameraShare;
  if (!showsNothing) return null;
  return Math.max(...colour) <= (source === 'screen' ? screenTolerance : blackest) ? 'black' : 'one_colour';
}

function medianOf(rgba: Uint8Array, channel: number): number {
  const counts = new Uint32Array(256);
  for (let at = channel; at < rgba.length; at += 4) (counts[rgba[at] as number] as number) += 1;
  let left = rgba.length / 8;
  return counts.findIndex((count) => (left -= count) <= 0);
}

/** A JPEG that is small enough to be shown beside a result. */
export function shrink(picture: Picture): { contentType: string; base64: string } {
  const scale = Math.min(1, maxSmallWidth / picture.width, maxSmallHeight / picture.height);
  const small = scale === 1 ? picture : scaled(picture, scale);
  let data: Buffer = Buffer.alloc(0);
  for (const quality of [80, 60, 40, 20]) {
    ({ data } = jpeg.encode({ width: small.width, height: small.height, data: small.rgba }, quality));
    if (data.length <= maxSmallBytes) break;
  }
  return { contentType: 'image/jpeg', base64: data.toString('base64') };
}

/** Scales a picture down. Each pixel is the mean of the pixels that it replaces. */
function scaled({ width, height, rgba }: Picture, scale: number): Picture {
  const [newWidth, newHeight] = [Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale))];
  const result = new Uint8Array(newWidth * newHeight * 4).fill(255);
  for (let y = 0; y < newHeight; y += 1) {
    const top = Math.floor((y * height) / newHeight);
    const bottom = Math.max(top + 1, Math.floor(((y + 1) * height) / newHeight));
    for (let x = 0; x < newWidth; x += 1) {
      const left = Math.floor((x * width) / newWidth);
      const right = Math.max(left + 1, Math.floor(((x + 1) * width) / newWidth));
      const sums = [0, 0, 0] as [number, number, number];
      for (let row = top; row < bottom; row += 1) {
        for (let at = (row * width + left) * 4, end = (row * width + right) * 4; at < end; at += 4) {
          sums[0] += rgba[at] as number;
          sums[1] += rgba[at + 1] as number;
          sums[2] += rgba[at + 2] as number;
        }
      }
      const pixels = (bottom - top) * (right - left);
      const to = (y * newWidth + x) * 4;
      for (const [channel, sum] of sums.entries()) result[to + channel] = Math.round(sum / pixels);
    }
  }
  return { width: newWidth, height: newHeight, rgba: result };
}
