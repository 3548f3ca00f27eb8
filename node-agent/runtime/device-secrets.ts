import { CompanionError } from './data-folder.ts';
import type { DataFolder, Identity, Pairing } from './data-folder.ts';
import type { HostPort } from './host-port.ts';

const sealDeadlineMs = 20_000;

/**
 * Where the device secret lies: in the system's key store, where the app around the runtime offers one, else in a file that only its owner can read. What a
 * key store sealed, only the app of the same user on the same machine opens.
 */
export class DeviceSecrets {
  readonly #host: HostPort | null;

  constructor(host: HostPort | null) {
    this.#host = host;
  }

  /** Its name as its user knows it; null where there is none. */
  get keyStore(): string | null {
    return this.#host?.offer.keyStore ?? null;
  }

  /** A pairing with its secret. One that still lies in a file moves to the key store where there is one. @throws CompanionError when it can't be had. */
  async open(folder: DataFolder, pairing: Pairing): Promise<Identity> {
    const { sealedSecret, deviceSecret, ...rest } = pairing;
    if (deviceSecret !== undefined) {
      if (this.keyStore !== null) {
        // A key store that fails now has it another time.
        const sealed = await this.#seal(deviceSecret).catch(() => null);
        if (sealed !== null) folder.writePairing({ ...rest, sealedSecret: sealed });
      }
      return { ...rest, deviceSecret };
    }
    if (this.#host === null || this.keyStore === null || sealedSecret === undefined)
      throw new CompanionError(
        "The device secret of this machine is in the system's key store, and only the companion's app can open it: start the app, or pair anew with: outrigger-companion pair CODE --force --hub URL",
      );
    const { text } = await this.#host.call('unseal', { sealed: sealedSecret }, AbortSignal.timeout(sealDeadlineMs));
    return { ...rest, deviceSecret: text };
  }

  /** Keeps a new pairing. @throws CompanionError when there is no key store and the owner did not agree to a file. */
  async keep(folder: DataFolder, { deviceSecret, ...rest }: Identity, mayUseFile: boolean): Promise<void> {
    if (this.keyStore !== null) {
      folder.writePairing({ ...rest, sealedSecret: await this.#seal(deviceSecret) });
      return;
    }
    this.assertUsable(mayUseFile);
    folder.writePairing({ ...rest, deviceSecret });
  }

  /** Before a code is used up. */
  assertUsable(mayUseFile: boolean): void {
    if (this.keyStore === null && !mayUseFile)
      throw new CompanionError(
        'This system has no key store: the secret would lie in a file that only you can read. Say that you agree to it (secretInFile).',
      );
  }

  async #seal(text: string): Promise<string> {
    const host = this.#host as HostPort;
    return (await host.call('seal', { text }, AbortSignal.timeout(sealDeadlineMs))).sealed;
  }
}
