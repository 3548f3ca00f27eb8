import { unsupported } from './damaged.ts';

/** Parts that a file is read in, at most; an animation of thousands of pictures has fewer. */
const maxParts = 10_000;

/**
 * Counts the parts of one file.
 * @param what such as `JPEG`.
 * @throws AppError `unsupported_media_type` beyond what a file may have.
 */
export function partCounter(what: string): () => void {
  let count = 0;
  return () => {
    count += 1;
    if (count > maxParts) throw unsupported(`This ${what} has more than ${maxParts} parts.`);
  };
}
