import type { DeviceIdentity } from '../store.ts';
import type { HandOut } from './lease-commands.ts';
import type { QuietNode } from './quiet-node.ts';

/** What becomes of polls: the same for all of a kind, so that one that waits needs no function of its own. */
export interface PollEnds<To> {
  /** What it answers was leased to the device; empty where there was nothing. */
  answered(poll: WaitingPoll<To>, handedOut: HandOut): void;
  failed(poll: WaitingPoll<To>, error: unknown): void;
}

/** What a poll asks for, and of whom. */
export interface PollRequest {
  device: DeviceIdentity;
  /** By which the device is confirmed again, as base64; null where only its node is known. */
  secretHash: string | null;
  /** Whether the device has been let in already. */
  isConfirmed: boolean;
  max: number;
  running: string[];
  /** Whether its device waits in no other. */
  isOnlyOne: boolean;
  /** By the clock of `performance`. */
  deadline: number;
  /** What is known of its node from before. */
  quiet: QuietNode | null;
}

/** A poll until it is answered. While it waits this is all that there is of it. */
export class WaitingPoll<To = unknown> {
  readonly request: PollRequest;
  readonly ends: PollEnds<To>;
  /** For whom it was begun. */
  readonly to: To;
  /** Whether it waits, and does not look. */
  isParked = false;
  /** Whether it is kept for a command that is being written. */
  isKept = false;
  /** Whether its node was told of since it began to look. */
  isWoken = false;
  /** Whether nothing more is to be leased to it: nobody listens, or the hub stops. */
  aborted = false;
  /** Whether it is to end with the look that is under way. */
  isEnding = false;
  isOver = false;

  constructor(request: PollRequest, ends: PollEnds<To>, to: To) {
    this.request = request;
    this.ends = ends;
    this.to = to;
  }
}
