/** Size of a picture in pixels, and whether it is animated. */
export interface PictureSize {
  width: number;
  height: number;
  isAnimated: boolean;
}

/** A picture without metadata. */
export interface CleanPicture {
  bytes: Buffer;
  /** The largest of the sizes that the file has for its parts; null for a GIF. */
  size: PictureSize | null;
}
