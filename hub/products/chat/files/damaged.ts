import { AppError } from '../../../../shared/errors.ts';

const acceptedFiles =
  'Pictures (PNG, JPEG, GIF, WebP), PDF, plain text and sound (MP3, Ogg, WAV, M4A, WebM) are taken.';

/** What is said of a file that is none of those which are taken, or is not whole. */
export const unsupported = (reason: string) => refused(`${reason} ${acceptedFiles}`);
/** The reason of `unsupported` alone, for uploads that accept other files. */
export const reasonOfUnsupported = (message: string) => message.replace(` ${acceptedFiles}`, '');
/** @param message all that is said. */
export const refused = (message: string) => new AppError('unsupported_media_type', message);
/** @param what such as `JPEG`. */
export const damaged = (what: string) => unsupported(`This ${what} is damaged or cut off.`);
