import { z } from 'zod';
import { windowMethods } from '../../shared/companion/app.ts';
import type { WindowAnswer, WindowMethodName, WindowMethods } from '../../shared/companion/app.ts';
import { describeIssue } from '../../shared/issue-messages.ts';

/** A failed call. The message is shown to the owner. */
export class AppError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = 'AppError';
    this.code = code;
  }
}

/** One handler for each window method. Params are already validated. */
export type CallHandlers = {
  [Name in WindowMethodName]: (params: z.output<WindowMethods[Name]['params']>) => Promise<unknown>;
};

/** The caller: the address of its frame, and whether the frame is the main frame of the window. */
export interface Caller {
  address: string;
  isWindow: boolean;
}

interface CallRouterOptions {
  handlers: CallHandlers;
  isWindowAddress: (address: string) => boolean;
  /** Code and message of errors that are meant for the owner. Null for other errors. */
  explain: (error: unknown) => { code: string; message: string } | null;
  onFault: (method: string, error: unknown) => void;
}

const call = z.strictObject({ method: z.string().max(100), params: z.unknown() });
const refused = (code: string, message: string): WindowAnswer => ({ error: { code, message } });

/**
 * Answers calls of the window. Refuses other callers, undeclared methods, and params or results that do not match their
 * declaration. Only code and message of an error leave the process.
 */
export function createCallRouter({ handlers, isWindowAddress, explain, onFault }: CallRouterOptions) {
  return async (caller: Caller, message: unknown): Promise<WindowAnswer> => {
    if (!caller.isWindow || !isWindowAddress(caller.address))
      return refused('forbidden', 'Only the window may call the app.');
    const parsedCall = call.safeParse(message);
    if (!parsedCall.success) return refused('invalid_input', 'This is not a valid call.');
    const { method, params } = parsedCall.data;
    if (!Object.hasOwn(windowMethods, method)) return refused('not_found', 'The app has no such method.');
    const name = method as WindowMethodName;
    const parsed = windowMethods[name].params.safeParse(params ?? {});
    if (!parsed.success) return refused('invalid_input', `${describeIssue(parsed.error, 'The call')}.`);
    try {
      const handler = handlers[name] as (params: unknown) => Promise<unknown>;
      return { result: windowMethods[name].result.parse((await handler(parsed.data)) ?? {}) };
    } catch (error) {
      const explained = error instanceof AppError ? error : explain(error);
      if (explained !== null) return refused(explained.code, explained.message);
      onFault(name, error);
      return refused('internal', 'The app failed to do this. See its log for details.');
    }
  };
}
