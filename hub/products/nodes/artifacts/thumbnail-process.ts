import sharp from 'sharp';

/**
 * Makes small copies of pictures. It is a process of its own, without environment variables and without what the hub
 * has in memory, because it decodes data of other machines with native code: a fault ends this process and not the hub.
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
/** A picture of this size can take 350 MB of memory while it is decoded. */
const maxPixels = 32_000_000;

sharp.cache(false);
sharp.concurrency(1);
// The library looks at the content, not at the type that the machine reported: no other decoder may see it.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: ['VipsForeignLoadPng', 'VipsForeignLoadJpeg', 'VipsForeignLoadWebp', 'VipsForeignLoadNsgif'],
});

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
// The hub has ended. An ordinary exit would wait for the picture that is being decoded.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
answer('ready');
