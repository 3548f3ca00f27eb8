import type { z } from 'zod';
import type { HostMethodName, HostMethods, HostOffer } from '../../shared/companion/host.ts';

/** The app process around this runtime. It offers the system's key store, and captures under its own identity. */
export interface HostPort {
  readonly offer: HostOffer;
  /** @throws HostError when the app answers with an error; the signal's reason. */
  call<Name extends HostMethodName>(
    method: Name,
    params: z.input<HostMethods[Name]['params']>,
    signal: AbortSignal,
  ): Promise<z.output<HostMethods[Name]['result']>>;
}

/** An error that the app answers: a code such as `permission_needed`, and a sentence that says what to do. */
export class HostError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = 'HostError';
    this.code = code;
  }
}
