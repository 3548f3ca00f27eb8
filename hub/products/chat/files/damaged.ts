import { AppError } from '../../../../shared/errors.ts';

const acceptedFiles =
  'Pictures (PNG, JPEG, GIF, WebP), PDF, plain text and sound (MP3, Ogg, WAV, M4A, WebM) are accepted.';

/** The error for a file of an unsupported type, or for a damaged file. Lists the accepted types. */
export const unsupported = (reason: string) => refused(`${reason} ${acceptedFiles}`);
/** The reason of `unsupported` alone, for uploads that accept other files. */
export const reasonOfUnsupported = (message: string) => message.replace(` ${acceptedFiles}`, '');
/** @param message the complete error message. */
export const refused = (message: string) => new AppError('unsupported_media_type', message);
/** @param what such as `JPEG`. */
export const damaged = (what: string) => unsupported(`This ${what} is damaged or cut off.`);
