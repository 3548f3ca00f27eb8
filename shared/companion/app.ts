import { z } from 'zod';
import { controlError, controlEvent, controlMethods } from './control.ts';
import type { ControlMethod } from './control.ts';

/**
 * What the window may ask of the app around it. The preload passes `call(method, params)` on and nothing else; the main process parses both, answers only its
 * own window, and sends the companion's methods on over the control channel.
 */

const nothing = z.strictObject({});

/** A link `outrigger://pair` that was opened and that nobody decided on; it never connects by itself. */
export const pairingLink = z.object({
  code: z.string(),
  /** Address of the hub, its host in ASCII (punycode). */
  hub: z.string(),
  /** The host as Unicode shows it, only where that differs: what it claims to be. */
  looksLike: z.string().nullable(),
  isEncrypted: z.boolean(),
  isLocal: z.boolean(),
  /** Why it can't be used; then it only can be dismissed. */
  problem: z.string().nullable(),
});
export type PairingLink = z.output<typeof pairingLink>;

export const updateState = z.object({
  /** How this installation is updated: by itself, or by whoever installed it. */
  by: z.enum(['app', 'system', 'nobody']),
  current: z.string(),
  state: z.enum(['idle', 'checking', 'downloading', 'ready', 'refused', 'failed']),
  version: z.string().nullable(),
  /** What is to be said: when it is applied, why it was refused, how to update where the system does. */
  detail: z.string().nullable(),
});
export type UpdateState = z.output<typeof updateState>;

export const appState = z.object({
  version: z.string(),
  platform: z.enum(['linux', 'darwin', 'win32']),
  /** How the app stands with the runtime beside it. */
  runtime: z.object({
    state: z
      .enum(['starting', 'running', 'attached', 'restarting', 'stopped'])
      .describe('attached: a headless companion runs on this data folder'),
    detail: z.string().nullable(),
  }),
  hasTray: z.boolean(),
  startAtLogin: z.boolean().nullable().describe("Null where this installation can't"),
  /** The global shortcut that pauses, as Electron writes it; null where the desktop takes none. */
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
  /** Applies an update that is ready now, rather than when nothing runs. */
  'app.applyUpdate': method(nothing, appState),
  /** Opens the system's own dialog; null when the owner chose nothing. */
  'app.chooseFolder': method(
    nothing,
    z.object({
      path: z.string().nullable(),
      isWide: z.boolean().describe('Whether it is the home folder, a folder around it, or a whole drive'),
    }),
  ),
  'app.openSystemSettings': method(z.strictObject({ pane: z.enum(['screen', 'camera', 'microphone']) }), nothing),
  'app.copy': method(z.strictObject({ text: z.string().max(2_000) }), nothing),
  'app.openLogFolder': method(nothing, nothing),
  'app.quit': method(nothing, nothing),
} as const;

/** All that the window can call. */
export const windowMethods = { ...controlMethods, ...appMethods } as const;
export type WindowMethods = typeof windowMethods;
export type WindowMethodName = keyof WindowMethods;
export type WindowParams<Name extends WindowMethodName> = z.input<WindowMethods[Name]['params']>;
export type WindowResult<Name extends WindowMethodName> = z.output<WindowMethods[Name]['result']>;

/** An answer as it comes through the bridge; errors are data, so that nothing of a stack leaves the main process. */
export const windowAnswer = z.union([z.object({ result: z.unknown() }), z.object({ error: controlError })]);
export type WindowAnswer = z.output<typeof windowAnswer>;

export const windowEvent = z.union([
  controlEvent,
  z.object({ event: z.literal('app'), state: appState }),
  /** The window came back to where it is seen, which its page does not hear of on every desktop. */
  z.object({ event: z.literal('shown') }),
]);
export type WindowEvent = z.output<typeof windowEvent>;

/** What the preload puts on `window.companion`, and nothing else. */
export interface CompanionBridge {
  call(method: string, params: unknown): Promise<WindowAnswer>;
  /** Answers how to stop listening. */
  onEvent(listener: (event: WindowEvent) => void): () => void;
}
