import { channelCloseCodes } from '../../../../shared/contract/nodes/channel.ts';
import type { nodeChannel } from '../../../../shared/contract/nodes/channel.ts';
import type { OpenedSocket, WebSocket } from '../../../platform/http/live/sockets.ts';
import { newId } from '../../../platform/ids.ts';
import type { QuietNode, WaitingPoll } from '../commands/index.ts';

/** Topic that tells of a new channel of a node, or that it was revoked. */
export const channelTopic = (nodeId: string) => `channel:${nodeId}`;

/** Requests of a device that are worked on at once; the connection is not read on until there are fewer. */
const maxAtOnce = 16;
/** What one read of the connection may bring beyond that. */
const maxRequests = 256;
/** What a device may send in a second before its connection is not read on until that is over: more than any companion has to say. */
const mostOfDevice = { frames: 500, bytes: 1024 * 1024 };
/** And all devices of a workspace together, so that nobody else waits while their frames are looked into. */
export const mostOfWorkspace = { frames: 5_000, bytes: 4 * 1024 * 1024 };

/** What came in the second that is now. */
export class Second {
  readonly #most: { frames: number; bytes: number };
  #endsAt = 0;
  #frames = 0;
  #bytes = 0;

  constructor(most: { frames: number; bytes: number }) {
    this.#most = most;
  }

  /** Counts a frame; answers how long no further one is to be read, in milliseconds. */
  add(bytes: number, now: number): number {
    if (now >= this.#endsAt) [this.#endsAt, this.#frames, this.#bytes] = [now + 1_000, 0, 0];
    this.#frames += 1;
    this.#bytes += bytes;
    return this.#frames > this.#most.frames || this.#bytes > this.#most.bytes ? this.#endsAt - now : 0;
  }
}

export type OpenedChannel = OpenedSocket<typeof nodeChannel.connectAutomationNode>;

/** A request of a device through its channel, to be answered by its number. */
export interface AskedThrough {
  channel: Channel;
  id: number;
}

/** The channel of a device that is open here. */
export class Channel {
  /** Later ones are greater, at whichever process they were opened. */
  readonly id = newId();
  readonly opened: OpenedChannel;
  readonly quiet: QuietNode;
  /** Its polls that wait. */
  polls: WaitingPoll<AskedThrough>[] = [];
  /** Whether nothing more is to be handed out through it. */
  isEnded = false;
  readonly #endPolls: (channel: Channel) => void;
  #underWay = 0;
  /** Why it is to close as soon as nothing is under way. */
  #closing: { code: number; reason: string } | undefined;
  /** While it runs nothing more is read. */
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

  /** Counts a frame before anybody looks into it. */
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

  /** Ends polls empty, and closes as soon as what is under way was answered. */
  stop(): void {
    this.endPolls();
    this.endWhenIdle(1001, 'the hub stops');
  }

  /** Closes as soon as what is under way was answered. */
  endWhenIdle(code: number, reason: string): void {
    this.#closing ??= { code, reason };
    this.#closeIfIdle();
  }

  /** Closes at once; what still comes through it is thrown away. */
  end(code: number, reason: string): void {
    this.socket.close(code, reason);
    this.endPolls();
    // The other side's word that it closes, too, could not be read else.
    this.socket.resume();
  }

  /** Ends its polls, and has no more of them wait. */
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
