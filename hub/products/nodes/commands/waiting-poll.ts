import type { DeviceIdentity } from '../store.ts';
import type { PollResult } from './lease-commands.ts';
import type { NodeIdleState } from './node-idle-state.ts';

/** Callbacks of polls. All polls of a kind share one object, so that a waiting poll needs no closure. */
export interface PollCallbacks<To> {
  /** The commands in the response are leased to the device. The response is empty when there are none. */
  answered(poll: WaitingPoll<To>, result: PollResult): void;
  failed(poll: WaitingPoll<To>, error: unknown): void;
}

/** The parameters of a poll and its device. */
export interface PollRequest {
  device: DeviceIdentity;
  /** Base64 hash of the secret with which the device is authenticated again. */
  secretHash: string;
  /** Whether the device is already authenticated. */
  isConfirmed: boolean;
  max: number;
  running: string[];
  /** Whether the device has no other poll. */
  hasSinglePoll: boolean;
  /** On the clock of `performance`. */
  deadline: number;
  /** Cached idle state of its node; null without a channel. */
  idleState: NodeIdleState | null;
}

/** A poll until its response. A waiting poll uses no other memory. */
export class WaitingPoll<To = unknown> {
  readonly request: PollRequest;
  readonly callbacks: PollCallbacks<To>;
  /** The recipient of the response. */
  readonly to: To;
  /** Whether it waits and does not query the database. */
  isWaiting = false;
  /** Whether it is reserved for a command that is being written. */
  isReserved = false;
  /** Whether an event of its node arrived while it queried the database. */
  isWoken = false;
  /** Whether no more commands may be leased to it: the client disconnected, or the hub stops. */
  aborted = false;
  /** Whether it ends with the query in progress. */
  isEnding = false;
  isOver = false;

  constructor(request: PollRequest, callbacks: PollCallbacks<To>, to: To) {
    this.request = request;
    this.callbacks = callbacks;
    this.to = to;
  }
}
