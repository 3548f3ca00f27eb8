import sharp from 'sharp';

/**
 * Makes small copies of pictures. It is a process of its own, without environment variables, because it decodes data
 * of other machines with native code: a fault ends this process and not the hub.
 */

export interface ThumbnailRequest {
  picture: Uint8Array;
  /** Maximum width of the copy, in pixels. */
  width: number;
}

/** The copy as WebP, or null if the picture cannot be decoded. */
export type ThumbnailAnswer = { copy: Uint8Array | null } | 'ready';

/** A page of a browser can be much taller than wide. */
const maxHeightPerWidth = 4;
const maxPixels = 64_000_000;

sharp.cache(false);
sharp.concurrency(1);

const answer = (message: ThumbnailAnswer) => process.send?.(message);

process.on('message', ({ picture, width }: ThumbnailRequest) => {
  sharp(picture, { limitInputPixels: maxPixels, sequentialRead: true })
    .autoOrient()
    .resize({ width, height: width * maxHeightPerWidth, fit: 'inside', withoutEnlargement: true })
    .webp({ quality: 80 })
    .toBuffer()
    .then(
      (copy) => answer({ copy }),
      () => answer({ copy: null }),
    );
});
// The hub has ended.
process.on('disconnect', () => process.exit());
answer('ready');
