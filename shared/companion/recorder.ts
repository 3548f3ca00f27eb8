import { z } from 'zod';

/** What the app asks of its page that records, which nobody sees, and what that answers. */
export type RecorderRequest = { id: number } & RecorderAsk;

export type RecorderAsk =
  | { kind: 'camera'; device: string | null }
  | { kind: 'audio'; device: string | null; seconds: number }
  /** A source that was just chosen, or null for the one that is still seen. */
  | { kind: 'screen'; source: string | null; contentType: string; quality: number };

export const recorderAnswer = z.union([
  /** Null where no screen is seen any more, and one must be chosen. */
  z.strictObject({ id: z.int(), bytes: z.instanceof(ArrayBuffer).nullable() }),
  z.strictObject({ id: z.int(), problem: z.string() }),
]);
export type RecorderAnswer = z.output<typeof recorderAnswer>;
