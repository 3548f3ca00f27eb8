import { channelCloseCodes } from '../../../../shared/contract/nodes/channel.ts';
import type { nodeChannel } from '../../../../shared/contract/nodes/channel.ts';
import type { OpenedSocket, WebSocket } from '../../../platform/http/live/sockets.ts';
import { newId } from '../../../platform/ids.ts';
import type { NodeIdleState, WaitingPoll } from '../commands/index.ts';

/** The event topic for new channels of a node and for its revocation. */
export const channelTopic = (nodeId: string) => `channel:${nodeId}`;

/** Concurrent requests of a device. Reading pauses while the limit is reached. */
const maxConcurrentRequests = 16;
/** Pending requests at which the channel closes. One read of the connection may exceed the limit above. */
const maxPendingRequests = 256;
/** Limits per device and second. Reading pauses until the second ends. A companion stays far below them. */
const maxPerDevice = { frames: 500, bytes: 1024 * 1024 };
/** Limits per workspace and second, so that one workspace cannot delay the frames of others. */
export const maxPerWorkspace = { frames: 5_000, bytes: 4 * 1024 * 1024 };

/** Counts the frames and bytes of the current second. */
export class RateWindow {
  readonly #limits: { frames: number; bytes: number };
  #endsAt = 0;
  #frames = 0;
  #bytes = 0;

  constructor(limits: { frames: number; bytes: number }) {
    this.#limits = limits;
  }

  /** Counts a frame. Returns how long reading must pause, in milliseconds. */
  add(bytes: number, now: number): number {
    if (now >= this.#endsAt) [this.#endsAt, this.#frames, this.#bytes] = [now + 1_000, 0, 0];
    this.#frames += 1;
    this.#bytes += bytes;
    return this.#frames > this.#limits.frames || this.#bytes > this.#limits.bytes ? this.#endsAt - now : 0;
  }
}

export type OpenedChannel = OpenedSocket<typeof nodeChannel.connectAutomationNode>;

/** A request that arrived through a channel. The response carries its `id`. */
export interface ChannelRequest {
  channel: Channel;
  id: number;
}

/** An open channel of a device in this process. */
export class Channel {
  /** Ids increase over time across all processes. */
  readonly id = newId();
  readonly opened: OpenedChannel;
  readonly idleState: NodeIdleState;
  /** The polls of this channel that wait. */
  polls: WaitingPoll<ChannelRequest>[] = [];
  /** Whether no more commands may be sent through it. */
  isEnded = false;
  readonly #endPolls: (channel: Channel) => void;
  #requestsInProgress = 0;
  /** The close code and reason to use once no request is in progress. */
  #closing: { code: number; reason: string } | undefined;
  /** Timer that resumes reading after a rate limit. */
  #pauseTimer: NodeJS.Timeout | undefined;
  readonly #deviceWindow = new RateWindow(maxPerDevice);
  readonly #workspaceWindow: RateWindow;

  constructor(
    opened: OpenedChannel,
    workspaceWindow: RateWindow,
    idleState: NodeIdleState,
    endPolls: (channel: Channel) => void,
  ) {
    this.opened = opened;
    this.idleState = idleState;
    this.#workspaceWindow = workspaceWindow;
    this.#endPolls = endPolls;
  }

  get socket(): WebSocket {
    return this.opened.socket;
  }

  /** Counts a frame before it is parsed. */
  countFrame(bytes: number): void {
    const now = performance.now();
    const waitMs = Math.max(this.#deviceWindow.add(bytes, now), this.#workspaceWindow.add(bytes, now));
    if (waitMs === 0 || this.#pauseTimer !== undefined) return;
    this.socket.pause();
    this.#pauseTimer = setTimeout(() => {
      this.#pauseTimer = undefined;
      this.#resumeReading();
    }, waitMs).unref();
  }

  requestStarted(): void {
    this.#requestsInProgress += 1;
    if (this.#requestsInProgress > maxPendingRequests)
      this.end(channelCloseCodes.tooMany, `more than ${maxPendingRequests} concurrent requests`);
    else if (this.#requestsInProgress >= maxConcurrentRequests) this.socket.pause();
  }

  requestFinished(): void {
    this.#requestsInProgress -= 1;
    this.#closeIfIdle();
    this.#resumeReading();
  }

  /** Ends polls with empty responses, and closes once all requests are answered. */
  stop(): void {
    this.endPolls();
    this.endWhenIdle(1001, 'the hub stops');
  }

  /** Closes once all requests are answered. */
  endWhenIdle(code: number, reason: string): void {
    this.#closing ??= { code, reason };
    this.#closeIfIdle();
  }

  /** Closes immediately. Frames that still arrive are discarded. */
  end(code: number, reason: string): void {
    this.socket.close(code, reason);
    this.endPolls();
    // A paused socket could not read the close frame of the device.
    this.socket.resume();
  }

  /** Ends the polls of this channel. Later polls get an empty response. */
  endPolls(): void {
    this.isEnded = true;
    this.#endPolls(this);
  }

  #resumeReading(): void {
    if (this.#requestsInProgress < maxConcurrentRequests && this.#pauseTimer === undefined) this.socket.resume();
  }

  #closeIfIdle(): void {
    if (this.#closing !== undefined && this.#requestsInProgress === 0)
      this.end(this.#closing.code, this.#closing.reason);
  }
}
