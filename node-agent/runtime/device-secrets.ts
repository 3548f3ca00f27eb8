import { CompanionError } from './data-folder.ts';
import type { DataFolder, Identity, Pairing } from './data-folder.ts';
import type { HostPort } from './host-port.ts';

const sealDeadlineMs = 20_000;

/**
 * Stores the device secret: in the system's key store when the app around the runtime offers one, else in a file that
 * only the owner can read. Only the app of the same user on the same machine can open a sealed secret.
 */
export class DeviceSecrets {
  readonly #host: HostPort | null;

  constructor(host: HostPort | null) {
    this.#host = host;
  }

  /** The display name of the key store. Null without one. */
  get keyStore(): string | null {
    return this.#host?.offer.keyStore ?? null;
  }

  /**
   * Reads the secret of a pairing. A secret in a file is moved to the key store if there is one.
   * @throws CompanionError when the secret cannot be read.
   */
  async open(folder: DataFolder, pairing: Pairing, signal: AbortSignal): Promise<Identity> {
    const { sealedSecret, deviceSecret, ...rest } = pairing;
    if (deviceSecret !== undefined) {
      if (this.keyStore !== null) {
        const stamp = folder.stampOf('identity.json');
        // If the key store fails, the next start tries again.
        const sealed = await this.#seal(deviceSecret, signal).catch(() => null);
        // This machine may have been paired again in the meantime.
        if (sealed !== null && !signal.aborted && folder.stampOf('identity.json') === stamp)
          folder.writePairing({ ...rest, sealedSecret: sealed });
      }
      return { ...rest, deviceSecret };
    }
    if (this.#host === null || this.keyStore === null || sealedSecret === undefined)
      throw new CompanionError(
        "The device secret of this machine is in the system's key store, and only the companion's app can open it: start the app, or pair again with: outrigger-companion pair CODE --force --hub URL",
      );
    try {
      const { text } = await this.#host.call('unseal', { sealed: sealedSecret }, within(signal));
      return { ...rest, deviceSecret: text };
    } catch (error) {
      signal.throwIfAborted();
      throw new CompanionError(
        `The key store did not return the device secret of this machine: ${(error as Error).message} Unlock it and start the app again, or pair again.`,
        { cause: error },
      );
    }
  }

  /** Stores a new pairing. @throws CompanionError when there is no key store and the owner did not agree to a file. */
  async keep(folder: DataFolder, { deviceSecret, ...rest }: Identity, mayUseFile: boolean): Promise<void> {
    if (this.keyStore !== null) {
      const sealed = await this.#seal(deviceSecret, new AbortController().signal).catch((error: unknown) => {
        throw new CompanionError(
          `The key store did not accept the device secret: ${(error as Error).message} Unlock it, and pair with a new code.`,
          { cause: error },
        );
      });
      folder.writePairing({ ...rest, sealedSecret: sealed });
      return;
    }
    this.assertUsable(mayUseFile);
    folder.writePairing({ ...rest, deviceSecret });
  }

  /** Checks that a secret could be stored. Called before a pairing code is used up. */
  assertUsable(mayUseFile: boolean): void {
    if (this.keyStore === null && !mayUseFile)
      throw new CompanionError(
        'This system has no key store: the secret would be in a file that only you can read. Confirm that you agree (secretInFile).',
      );
  }

  async #seal(text: string, signal: AbortSignal): Promise<string> {
    const host = this.#host as HostPort;
    return (await host.call('seal', { text }, within(signal))).sealed;
  }
}

const within = (signal: AbortSignal) => AbortSignal.any([signal, AbortSignal.timeout(sealDeadlineMs)]);
