import { stat } from 'node:fs/promises';
import type { z } from 'zod';
import type { HostMethods } from '../../../shared/companion/host.ts';
import { HostError } from '../host-port.ts';
import type { HostPort } from '../host-port.ts';
import { CommandError } from './handler.ts';

type CaptureMethod = 'captureScreen' | 'captureCamera' | 'captureAudio';

const powerOf = { captureScreen: 'screen', captureCamera: 'camera', captureAudio: 'audio' } as const;
/** Error codes of the app that the command returns unchanged. */
const knownCodes = new Set(['permission_needed', 'not_found', 'timeout']);

/** The app that runs this runtime, if the app offers the capture; else undefined. */
export function capturingHost(host: HostPort | undefined, method: CaptureMethod): HostPort | undefined {
  return host?.offer.captures.includes(powerOf[method]) === true ? host : undefined;
}

/**
 * Makes the app capture into `params.file`.
 * @throws CommandError `permission_needed`, `not_found`, `timeout` or `failed`; the reason of the signal if it aborts.
 */
export async function captureByHost<Method extends CaptureMethod>(
  host: HostPort,
  method: Method,
  params: z.input<HostMethods[Method]['params']> & { file: string },
  options: { signal: AbortSignal; timeoutMs: number },
): Promise<void> {
  const timeout = AbortSignal.timeout(options.timeoutMs);
  try {
    await host.call(method, params, AbortSignal.any([options.signal, timeout]));
  } catch (error) {
    options.signal.throwIfAborted();
    if (timeout.aborted)
      throw new CommandError('timeout', `The app did not capture within ${options.timeoutMs / 1000} s.`, {
        cause: error,
      });
    const code = error instanceof HostError && knownCodes.has(error.code) ? error.code : 'failed';
    throw new CommandError(code, (error as Error).message, { cause: error });
  }
  const bytes = await stat(params.file).then(
    ({ size }) => size,
    () => 0,
  );
  if (bytes === 0) throw new CommandError('failed', 'The app captured nothing.');
}
