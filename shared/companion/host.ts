import { z } from 'zod';
import { powers } from './settings.ts';
import { systemPermission } from './state.ts';

/**
 * What a runtime that runs inside the app asks of the process around it, because only that one can: the system's key store, and capturing under the app's own
 * name. Messages `{ id, method, params }` and `{ id, result | error }` over the port between the two.
 */
export const hostMethods = {
  /** Encrypts a text for this user on this machine; base64. */
  seal: { params: z.strictObject({ text: z.string() }), result: z.object({ sealed: z.string() }) },
  unseal: { params: z.strictObject({ sealed: z.string() }), result: z.object({ text: z.string() }) },
  /** Whether the system lets the app use a power, where the app knows better than the runtime; null where it does not. */
  permission: {
    params: z.strictObject({ power: z.enum(powers) }),
    result: z.object({ permission: systemPermission.nullable() }),
  },
  /** Writes a picture of a display to a file; width and height in pixels. */
  captureScreen: {
    params: z.strictObject({
      display: z.int().min(0),
      format: z.enum(['png', 'jpeg']),
      quality: z.int().min(1).max(100),
      file: z.string(),
    }),
    result: z.object({}),
  },
  captureCamera: { params: z.strictObject({ device: z.string().nullable(), file: z.string() }), result: z.object({}) },
  captureAudio: {
    params: z.strictObject({ device: z.string().nullable(), seconds: z.number(), file: z.string() }),
    result: z.object({}),
  },
} as const;
export type HostMethods = typeof hostMethods;
export type HostMethodName = keyof HostMethods;

/** What the app offers a runtime that it starts. */
export const hostOffer = z.object({
  /** Name of the key store as its user knows it; null where there is none. */
  keyStore: z.string().nullable(),
  /** Powers that the app itself captures with, instead of the system's tools. */
  captures: z.array(z.enum(['screen', 'camera', 'audio'])),
});
export type HostOffer = z.output<typeof hostOffer>;

export const hostRequest = z.object({ id: z.int(), method: z.string(), params: z.unknown() });
export const hostAnswer = z.object({
  id: z.int(),
  result: z.unknown().optional(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
});
