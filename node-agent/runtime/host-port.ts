import type { z } from 'zod';
import type { HostMethodName, HostMethods, HostOffer } from '../../shared/companion/host.ts';

/** The process around this runtime, where one is: the app, with the system's key store and an identity of its own to capture under. */
export interface HostPort {
  readonly offer: HostOffer;
  /** @throws HostError that the app answered with, or the signal's reason. */
  call<Name extends HostMethodName>(
    method: Name,
    params: z.input<HostMethods[Name]['params']>,
    signal: AbortSignal,
  ): Promise<z.output<HostMethods[Name]['result']>>;
}

/** What the app answered instead of a result: a code such as `permission_needed`, and a sentence that says what to do. */
export class HostError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = 'HostError';
    this.code = code;
  }
}
