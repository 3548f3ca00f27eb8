import { backoffMs } from './backoff.ts';
import { CompanionError } from './data-folder.ts';
import type { Identity } from './data-folder.ts';
import type { CompanionEvent } from './event-log.ts';
import { HubChannel } from './hub-channel.ts';
import { HubClient } from './hub-client.ts';
import { channelLost, HubError } from './hub-error.ts';
import { ResultSender } from './result-sender.ts';

const revokedExitCode = 3;

export interface HubConnectionOptions {
  identity: Identity;
  /** Whether a channel is used where one can be had. */
  channel: boolean;
  onEvent: (event: CompanionEvent) => void;
  /** Hears, once, that the hub does not know this device any more. */
  onRevoked: (error: CompanionError) => void;
}

/** The connection to the hub: by which way, whether it stands, and what is told of it. */
export class HubConnection {
  readonly client: HubClient;
  readonly sender: ResultSender;
  readonly #options: HubConnectionOptions;
  readonly #channel: HubChannel | null;
  isUp = false;
  lastError: string | null = null;
  #revocation: CompanionError | undefined;
  /** Whether the hub did not answer to a request since it last did. */
  #wasUnreachable = false;

  constructor(options: HubConnectionOptions) {
    this.#options = options;
    const { hub, nodeId, deviceSecret } = options.identity;
    this.#channel = options.channel ? new HubChannel(hub, nodeId, deviceSecret) : null;
    this.client = new HubClient(hub, deviceSecret, this.#channel);
    this.sender = new ResultSender(this.client, nodeId);
  }

  /** Which way requests go now. */
  get by(): 'channel' | 'poll' {
    return this.#channel?.isOpen === true ? 'channel' : 'poll';
  }

  /** Why this device can't go on, once the hub said that it does not know it any more. */
  get revocation(): CompanionError | undefined {
    return this.#revocation;
  }

  /** Opens the channel, if it may be tried now. */
  async ensureChannel(signal: AbortSignal): Promise<void> {
    await this.#channel?.ensureOpen(signal);
  }

  /** Says that the hub answered, which came by `by`. */
  markConnected(by: 'channel' | 'poll'): void {
    if (this.#wasUnreachable) this.#channel?.allowRetry();
    this.#wasUnreachable = false;
    if (this.isUp) return;
    this.isUp = true;
    this.lastError = null;
    this.#options.onEvent({ event: 'connected', hub: this.#options.identity.hub, by });
  }

  /** Tells of a lost connection; answers how long to wait before the next attempt, in milliseconds. */
  markLost(error: unknown, failures: number): number {
    const waitMs = backoffMs(error, failures);
    const reason = (error as Error).message;
    if (this.isUp || reason !== this.lastError)
      this.#options.onEvent({ event: 'disconnected', reason, retryInSeconds: Math.round(waitMs / 100) / 10 });
    this.isUp = false;
    this.lastError = reason;
    // Another hub may answer next; one that only lost our channel is the same.
    if (!(error instanceof HubError) || error.code !== channelLost) this.#wasUnreachable = true;
    this.sender.resetHubFeatures();
    return waitMs;
  }

  /** Whether an error means that the hub does not know this device any more; then all ends. */
  endIfRevoked(error: unknown): boolean {
    if (!(error instanceof HubError) || !error.isRevocation) return false;
    this.#revocation ??= new CompanionError(
      `The hub does not know this machine any more (${error.message}) Pair it again with: outrigger-companion pair CODE --force --hub ${this.#options.identity.hub}`,
      { exitCode: revokedExitCode },
    );
    this.#options.onRevoked(this.#revocation);
    return true;
  }

  /** Ends the channel; what is still to be said goes by requests. */
  closeChannel(): void {
    this.#channel?.close();
  }
}
