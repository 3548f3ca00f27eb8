import { z } from 'zod';
import { controlError, controlEvent, controlMethods } from './control.ts';
import type { ControlMethod } from './control.ts';

/**
 * Methods of the app window. The preload forwards only `call(method, params)`. The main process parses both, answers
 * only its own window, and forwards methods of the companion over the control channel.
 */

const nothing = z.strictObject({});

/** An opened `outrigger://pair` link that waits for the owner's decision. A link never connects automatically. */
export const pairingLink = z.object({
  code: z.string(),
  /** Address of the hub, its host in ASCII (punycode). */
  hub: z.string(),
  /** The host in Unicode, if it differs from the ASCII form. */
  looksLike: z.string().nullable(),
  isEncrypted: z.boolean(),
  isLocal: z.boolean(),
  /** Why the link cannot be used. Such a link can only be dismissed. */
  problem: z.string().nullable(),
});
export type PairingLink = z.output<typeof pairingLink>;

export const updateState = z.object({
  /** How this installation is updated: by the app, by the system's package manager, or not at all. */
  by: z.enum(['app', 'system', 'nobody']),
  current: z.string(),
  state: z.enum(['idle', 'checking', 'downloading', 'ready', 'refused', 'failed']),
  version: z.string().nullable(),
  /** Details for the owner: when the update is applied, why it was refused, or how to update with the system. */
  detail: z.string().nullable(),
});
export type UpdateState = z.output<typeof updateState>;

export const appState = z.object({
  version: z.string(),
  platform: z.enum(['linux', 'darwin', 'win32']),
  /** State of the companion runtime. */
  runtime: z.object({
    state: z
      .enum(['starting', 'running', 'attached', 'restarting', 'stopped'])
      .describe('attached: a headless companion runs on this data folder'),
    detail: z.string().nullable(),
  }),
  hasTray: z.boolean(),
  startAtLogin: z.boolean().nullable().describe('Null if this installation does not support it'),
  /** The global pause shortcut in Electron's notation; null if the desktop supports none. */
  pauseShortcut: z.string().nullable(),
  /** The command line that pauses this companion. */
  pauseCommand: z.string(),
  pairingLink: pairingLink.nullable(),
  update: updateState,
});
export type AppState = z.output<typeof appState>;

const method = <Params extends z.ZodType, Result extends z.ZodType>(
  params: Params,
  result: Result,
): ControlMethod<Params, Result> => ({ params, result });

export const appMethods = {
  'app.state': method(nothing, appState),
  'app.dismissPairingLink': method(nothing, appState),
  'app.setStartAtLogin': method(z.strictObject({ on: z.boolean() }), appState),
  'app.checkForUpdate': method(nothing, appState),
  /** Applies a ready update immediately, instead of when no command runs. */
  'app.applyUpdate': method(nothing, appState),
  /** Opens the folder dialog of the system; null if the owner cancelled. */
  'app.chooseFolder': method(
    nothing,
    z.object({
      path: z.string().nullable(),
      isWide: z.boolean().describe('Whether it is the home folder, a parent of it, or a whole drive'),
    }),
  ),
  'app.openSystemSettings': method(z.strictObject({ pane: z.enum(['screen', 'camera', 'microphone']) }), nothing),
  'app.copy': method(z.strictObject({ text: z.string().max(2_000) }), nothing),
  'app.openLogFolder': method(nothing, nothing),
  'app.quit': method(nothing, nothing),
} as const;

/** All methods that the window can call. */
export const windowMethods = { ...controlMethods, ...appMethods } as const;
export type WindowMethods = typeof windowMethods;
export type WindowMethodName = keyof WindowMethods;
export type WindowParams<Name extends WindowMethodName> = z.input<WindowMethods[Name]['params']>;
export type WindowResult<Name extends WindowMethodName> = z.output<WindowMethods[Name]['result']>;

/** An answer through the bridge. Errors are data, so that no stack trace leaves the main process. */
export const windowAnswer = z.union([z.object({ result: z.unknown() }), z.object({ error: controlError })]);
export type WindowAnswer = z.output<typeof windowAnswer>;

export const windowEvent = z.union([
  controlEvent,
  z.object({ event: z.literal('app'), state: appState }),
  /** The window became visible again. Not every desktop notifies the page about it. */
  z.object({ event: z.literal('shown') }),
]);
export type WindowEvent = z.output<typeof windowEvent>;

/** The `window.companion` object of the preload. */
export interface CompanionBridge {
  call(method: string, params: unknown): Promise<WindowAnswer>;
  /** Returns a function that removes the listener. */
  onEvent(listener: (event: WindowEvent) => void): () => void;
}
