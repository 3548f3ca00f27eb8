import type { z } from 'zod';
import { hostMethods, hostRequest } from '../../shared/companion/host.ts';
import type { HostMethodName, HostMethods } from '../../shared/companion/host.ts';
import { AppError } from './call-router.ts';

/** What the app does for its runtime, one function for each method. */
export type HostHandlers = {
  [Name in HostMethodName]: (
    params: z.output<HostMethods[Name]['params']>,
  ) => Promise<z.output<HostMethods[Name]['result']>>;
};

export type HostAnswer = { id: number; result: unknown } | { id: number; error: { code: string; message: string } };

/** Answers one message of the runtime's; null for what is none of ours. Errors are data, in words. */
export async function answerHostRequest(
  handlers: HostHandlers,
  message: unknown,
  onFault: (method: string, error: unknown) => void,
): Promise<HostAnswer | null> {
  const request = hostRequest.safeParse(message);
  if (!request.success) return null;
  const { id, method } = request.data;
  if (!Object.hasOwn(hostMethods, method))
    return { id, error: { code: 'not_found', message: 'The app knows no such call.' } };
  const name = method as HostMethodName;
  const params = hostMethods[name].params.safeParse(request.data.params);
  if (!params.success) return { id, error: { code: 'invalid_input', message: 'The call does not fit.' } };
  try {
    return { id, result: await handlers[name](params.data as never) };
  } catch (error) {
    onFault(name, error);
    const { code, message: text } =
      error instanceof AppError ? error : { code: 'failed', message: (error as Error).message };
    return { id, error: { code, message: text } };
  }
}
