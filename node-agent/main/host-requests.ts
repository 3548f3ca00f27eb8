import type { z } from 'zod';
import { hostMethods, hostRequest } from '../../shared/companion/host.ts';
import type { HostMethodName, HostMethods } from '../../shared/companion/host.ts';
import { AppError } from './call-router.ts';

/** Operations of the app that the runtime can request, one for each method. */
export type HostHandlers = {
  [Name in HostMethodName]: (
    params: z.output<HostMethods[Name]['params']>,
  ) => Promise<z.output<HostMethods[Name]['result']>>;
};

export type HostAnswer = { id: number; result: unknown } | { id: number; error: { code: string; message: string } };

/** Answers a request of the runtime. Returns null for messages that are not requests. Errors are returned as data. */
export async function answerHostRequest(
  handlers: HostHandlers,
  message: unknown,
  onFault: (method: string, error: unknown) => void,
): Promise<HostAnswer | null> {
  const request = hostRequest.safeParse(message);
  if (!request.success) return null;
  const { id, method } = request.data;
  if (!Object.hasOwn(hostMethods, method))
    return { id, error: { code: 'not_found', message: 'The app has no such method.' } };
  const name = method as HostMethodName;
  const params = hostMethods[name].params.safeParse(request.data.params);
  if (!params.success) return { id, error: { code: 'invalid_input', message: 'The params of the call are invalid.' } };
  try {
    return { id, result: await handlers[name](params.data as never) };
  } catch (error) {
    onFault(name, error);
    const { code, message: text } =
      error instanceof AppError ? error : { code: 'failed', message: (error as Error).message };
    return { id, error: { code, message: text } };
  }
}
