import { unsupported } from './damaged.ts';

/** Parts (chunks or segments) of one file. An animation with thousands of frames has fewer. */
const maxParts = 10_000;

/**
 * Counts the parts of one file.
 * @param what such as `JPEG`.
 * @throws AppError `unsupported_media_type` beyond `maxParts`.
 */
export function partCounter(what: string): () => void {
  let count = 0;
  return () => {
    count += 1;
    if (count > maxParts) throw unsupported(`This ${what} has more than ${maxParts} parts.`);
  };
}
