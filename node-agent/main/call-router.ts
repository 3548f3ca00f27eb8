import { z } from 'zod';
import { windowMethods } from '../../shared/companion/app.ts';
import type { WindowAnswer, WindowMethodName, WindowMethods } from '../../shared/companion/app.ts';
import { describeIssue } from '../../shared/issue-messages.ts';

/** Why a wish of the window was not carried out, in words for the person before it. */
export class AppError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = 'AppError';
    this.code = code;
  }
}

/** One handler for each method that the window knows; params are parsed already. */
export type CallHandlers = {
  [Name in WindowMethodName]: (params: z.output<WindowMethods[Name]['params']>) => Promise<unknown>;
};

/** Who calls: the address of its frame, and whether it is the main frame of our window. */
export interface Caller {
  address: string;
  isWindow: boolean;
}

interface CallRouterOptions {
  handlers: CallHandlers;
  isWindowAddress: (address: string) => boolean;
  /** An error that was made for the person who reads it; null for any other. */
  explain: (error: unknown) => { code: string; message: string } | null;
  onFault: (method: string, error: unknown) => void;
}

const call = z.strictObject({ method: z.string().max(100), params: z.unknown() });
const refused = (code: string, message: string): WindowAnswer => ({ error: { code, message } });

/**
 * Answers what a page asks by the one channel that there is. Whoever is not our window, a method that is not declared, and params or a result that do not
 * fit their declaration are refused; nothing of an error but its code and its sentence leaves the process.
 */
export function createCallRouter({ handlers, isWindowAddress, explain, onFault }: CallRouterOptions) {
  return async (caller: Caller, message: unknown): Promise<WindowAnswer> => {
    if (!caller.isWindow || !isWindowAddress(caller.address)) return refused('forbidden', 'Only the window may ask.');
    const parsedCall = call.safeParse(message);
    if (!parsedCall.success) return refused('invalid_input', 'This is no call.');
    const { method, params } = parsedCall.data;
    if (!Object.hasOwn(windowMethods, method)) return refused('not_found', 'The app knows no such call.');
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
      return refused('internal', 'The app failed at this; its log says more.');
    }
  };
}
