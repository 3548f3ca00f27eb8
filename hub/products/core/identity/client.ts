/** Kept characters of a `User-Agent`. */
const maxLength = 300;

/** The `User-Agent` of a request as it is stored: shortened; null without one. */
export const clientOf = (userAgent: string | undefined): string | null =>
  userAgent?.slice(0, maxLength).toWellFormed() ?? null;
