import { z } from 'zod';

/** Requests of the app to its hidden recorder page. */
export type RecorderRequest = { id: number } & RecorderCapture;

export type RecorderCapture =
  | { kind: 'camera'; device: string | null }
  | { kind: 'audio'; device: string | null; seconds: number }
  /** A newly chosen source, or null for the current one. */
  | { kind: 'screen'; source: string | null; contentType: string; quality: number };

export const recorderAnswer = z.union([
  /** Null if no screen is captured any more, so that the owner must choose one. */
  z.strictObject({ id: z.int(), bytes: z.instanceof(ArrayBuffer).nullable() }),
  z.strictObject({ id: z.int(), problem: z.string() }),
]);
export type RecorderAnswer = z.output<typeof recorderAnswer>;
