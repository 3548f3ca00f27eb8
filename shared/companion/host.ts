import { z } from 'zod';
import { powers } from './settings.ts';
import { systemPermission } from './state.ts';

/**
 * Methods that the app process offers to the companion runtime inside the app: the key store of the system, and
 * captures under the app's own name. The messages are `{ id, method, params }` and `{ id, result | error }` over a
 * port.
 */
export const hostMethods = {
  /** Encrypts a text for this user on this machine; the result is base64. */
  seal: { params: z.strictObject({ text: z.string() }), result: z.object({ sealed: z.string() }) },
  unseal: { params: z.strictObject({ sealed: z.string() }), result: z.object({ text: z.string() }) },
  /** Whether the system grants the app a power; null if the app does not know. */
  permission: {
    params: z.strictObject({ power: z.enum(powers) }),
    result: z.object({ permission: systemPermission.nullable() }),
  },
  /** Writes a screenshot of a display to a file. */
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

/** Capabilities that the app offers to the runtime that it starts. */
export const hostOffer = z.object({
  /** Display name of the key store; null without one. */
  keyStore: z.string().nullable(),
  /** Powers for which the app captures itself, instead of with tools of the system. */
  captures: z.array(z.enum(['screen', 'camera', 'audio'])),
});
export type HostOffer = z.output<typeof hostOffer>;

export const hostRequest = z.object({ id: z.int(), method: z.string(), params: z.unknown() });
export const hostAnswer = z.object({
  id: z.int(),
  result: z.unknown().optional(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
});
