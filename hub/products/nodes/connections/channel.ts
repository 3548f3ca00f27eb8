import { channelCloseCodes } from '../../../../shared/contract/nodes/channel.ts';
import type { nodeChannel } from '../../../../shared/contract/nodes/channel.ts';
import type { OpenedSocket, WebSocket } from '../../../platform/http/live/sockets.ts';
import { newId } from '../../../platform/ids.ts';
import type { QuietNode, WaitingPoll } from '../commands/index.ts';

/** The event topic for new channels of a node and for its revocation. */
export const channelTopic = (nodeId: string) => `channel:${nodeId}`;

/** Concurrent requests of a device. Reading pauses while the limit is reached. */
const maxAtOnce = 16;
/** Pending requests at which the channel closes. One read of the connection may exceed the limit above. */
const maxRequests = 256;
/** Limits per device and second. Reading pauses until the second ends. A companion stays far below them. */
const mostOfDevice = { frames: 500, bytes: 1024 * 1024 };
/** Limits per workspace and second, so that one workspace cannot delay the frames of others. */
export const mostOfWorkspace = { frames: 5_000, bytes: 4 * 1024 * 1024 };

/** Counts the frames and bytes of the current second. */
export class Second {
  readonly #most: { frames: number; bytes: number };
  #endsAt = 0;
  #frames = 0;
  #bytes = 0;

  constructor(most: { frames: number; bytes: number }) {
    this.#most = most;
  }

  /** Counts a frame. Returns how long reading must pause, in milliseconds. */
  add(bytes: number, now: number): number {
    if (now >= this.#endsAt) [this.#endsAt, this.#frames, this.#bytes] = [now + 1_000, 0, 0];
    this.#frames += 1;
    this.#bytes += bytes;
    return this.#frames > this.#most.frames || this.#bytes > this.#most.bytes ? this.#endsAt - now : 0;
  }
}

export type OpenedChannel = OpenedSocket<typeof nodeChannel.connectAutomationNode>;

/** A request that arrived through a channel. The response carries its `id`. */
export interface AskedThrough {
  channel: Channel;
  id: number;
}

/** An open channel of a device in this process. */
export class Channel {
  /** Ids increase over time across all processes. */
  readonly id = newId();
  readonly opened: OpenedChannel;
  readonly quiet: QuietNode;
  /** The polls of this channel that wait. */
  polls: WaitingPoll<AskedThrough>[] = [];
  /** Whether no more commands may be sent through it. */
  isEnded = false;
  readonly #endPolls: (channel: Channel) => void;
  #underWay = 0;
  /** The close code and reason to use once no request is in progress. */
  #closing: { code: number; reason: string } | undefined;
  /** Timer that resumes reading after a rate limit. */
  #resting: NodeJS.Timeout | undefined;
  readonly #own = new Second(mostOfDevice);
  readonly #shared: Second;

  constructor(opened: OpenedChannel, shared: Second, quiet: QuietNode, endPolls: (channel: Channel) => void) {
    this.opened = opened;
    this.quiet = quiet;
    this.#shared = shared;
    this.#endPolls = endPolls;
  }

  get socket(): WebSocket {
    return this.opened.socket;
  }

  /** Counts a frame before it is parsed. */
  arrived(bytes: number): void {
    const now = performance.now();
    const waitMs = Math.max(this.#own.add(bytes, now), this.#shared.add(bytes, now));
    if (waitMs === 0 || this.#resting !== undefined) return;
    this.socket.pause();
    this.#resting = setTimeout(() => {
      this.#resting = undefined;
      this.#readOn();
    }, waitMs).unref();
  }

  begun(): void {
    this.#underWay += 1;
    if (this.#underWay > maxRequests) this.end(channelCloseCodes.tooMany, `more than ${maxRequests} requests at once`);
    else if (this.#underWay >= maxAtOnce) this.socket.pause();
  }

  finished(): void {
    this.#underWay -= 1;
    this.#closeIfIdle();
    this.#readOn();
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

  #readOn(): void {
    if (this.#underWay < maxAtOnce && this.#resting === undefined) this.socket.resume();
  }

  #closeIfIdle(): void {
    if (this.#closing !== undefined && this.#underWay === 0) this.end(this.#closing.code, this.#closing.reason);
  }
}
