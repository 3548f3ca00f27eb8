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
  /** Whether to use a channel if the hub allows one. */
  channel: boolean;
  onEvent: (event: CompanionEvent) => void;
  /** Called once, when the hub does not know this device any more. */
  onRevoked: (error: CompanionError) => void;
}

/** The connection to the hub: how requests are sent, whether the hub answers, and the events about it. */
export class HubConnection {
  readonly client: HubClient;
  readonly sender: ResultSender;
  readonly #options: HubConnectionOptions;
  readonly #channel: HubChannel | null;
  isUp = false;
  lastError: string | null = null;
  #revocation: CompanionError | undefined;
  /** Whether a request failed since the hub last answered. */
  #wasUnreachable = false;

  constructor(options: HubConnectionOptions) {
    this.#options = options;
    const { hub, nodeId, deviceSecret } = options.identity;
    this.#channel = options.channel ? new HubChannel(hub, nodeId, deviceSecret) : null;
    this.client = new HubClient(hub, deviceSecret, this.#channel);
    this.sender = new ResultSender(this.client, nodeId);
  }

  /** The current transport of requests. */
  get by(): 'channel' | 'poll' {
    return this.#channel?.isOpen === true ? 'channel' : 'poll';
  }

  /** Set when the hub does not know this device any more. */
  get revocation(): CompanionError | undefined {
    return this.#revocation;
  }

  /** Opens the channel, unless it has to pause after a failed attempt. */
  async ensureChannel(signal: AbortSignal): Promise<void> {
    await this.#channel?.ensureOpen(signal);
  }

  /** Records that the hub answered, over the channel or a request. */
  markConnected(by: 'channel' | 'poll'): void {
    if (this.#wasUnreachable) this.#channel?.allowRetry();
    this.#wasUnreachable = false;
    if (this.isUp) return;
    this.isUp = true;
    this.lastError = null;
    this.#options.onEvent({ event: 'connected', hub: this.#options.identity.hub, by });
  }

  /** Records a lost connection. @returns how long to wait before the next attempt, in milliseconds. */
  markLost(error: unknown, failures: number): number {
    const waitMs = backoffMs(error, failures);
    const reason = (error as Error).message;
    if (this.isUp || reason !== this.lastError)
      this.#options.onEvent({ event: 'disconnected', reason, retryInSeconds: Math.round(waitMs / 100) / 10 });
    this.isUp = false;
    this.lastError = reason;
    // The next answer may come from another hub. After a lost channel alone, it is the same hub.
    if (!(error instanceof HubError) || error.code !== channelLost) this.#wasUnreachable = true;
    this.sender.resetHubFeatures();
    return waitMs;
  }

  /** Whether an error means that the hub does not know this device any more. If so, the companion ends. */
  endIfRevoked(error: unknown): boolean {
    if (!(error instanceof HubError) || !error.isRevocation) return false;
    this.#revocation ??= new CompanionError(
      `The hub does not know this machine any more (${error.message}) Pair it again with: outrigger-companion pair CODE --force --hub ${this.#options.identity.hub}`,
      { exitCode: revokedExitCode },
    );
    this.#options.onRevoked(this.#revocation);
    return true;
  }

  /** Closes the channel. Remaining results are sent by HTTP requests. */
  closeChannel(): void {
    this.#channel?.close();
  }
}
