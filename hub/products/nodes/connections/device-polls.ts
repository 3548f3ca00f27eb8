import type { z } from 'zod';
import type { nodes as resource } from '../../../../shared/contract/nodes/nodes.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { Events } from '../../../platform/events/events.ts';
import { QuietNode, WaitingPoll, nodeTopic } from '../commands/index.ts';
import type { HandOut, NodeCommands, PollEnds } from '../commands/index.ts';
import type { DeviceSecrets } from '../devices/index.ts';
import type { DeviceIdentity } from '../store.ts';

export interface DevicePollsDependencies {
  events: Events;
  commands: Pick<NodeCommands, 'handOut' | 'putBack' | 'parked'>;
  secrets: Pick<DeviceSecrets, 'look' | 'rested' | 'wanted'>;
}

/** What a device asks for in a poll, by its operation or through its channel. */
export type PollQuery = z.output<typeof resource.pollAutomationNodeCommands.query>;

/** What is known of who polls, beside the node. */
export interface PollContext {
  /** By which the device is confirmed again, as base64; null where only its node is known. */
  secretHash: string | null;
  isConfirmed: boolean;
  quiet: QuietNode | null;
}

/** After events were missed all polls look again, spread over so long for each of them, in milliseconds. */
const lookAgainMs = 2.5;
/** Polls of one device that wait at one process, at most; a companion needs one, and another while the connection of the first dies. */
const maxPollsOfDevice = 8;
/**
 * How often waiting polls are checked for commands whose event was lost, in milliseconds: those of channels, which wait longer than any request, and
 * all of them while the events of other processes are interrupted. One statement checks so many nodes.
 */
const missedEveryMs = 30_000;
const interruptedEveryMs = 1_000;
const maxLooks = 1_000;
/** How often it is looked which polls have waited long enough, in milliseconds; they end by so much too early. */
const deadlineEveryMs = 250;

const none: string[] = [];
const nothing = (): HandOut => ({ answer: { commands: [], withdrawn: [] }, leases: [] });
const knowsNodeOnly: PollContext = { secretHash: null, isConfirmed: true, quiet: null };

/** The polls of devices at this process. One that waits is an entry among `parked`, without a timer, a subscription or a promise of its own. */
export class DevicePolls {
  readonly #deps: DevicePollsDependencies;
  readonly #all = new Set<WaitingPoll>();
  /** What the newest channel of each node here knows of it. */
  readonly #quiet = new Map<string, QuietNode>();
  #deadlines: NodeJS.Timeout | undefined;
  #lookedForMissedAt = performance.now();
  #isLookingForMissed = false;

  constructor(dependencies: DevicePollsDependencies) {
    this.#deps = dependencies;
    const { events, commands } = dependencies;
    commands.parked.mover = {
      take: (poll, handedOut) => this.#take(poll, handedOut),
      wake: (poll) => this.#wake(poll),
    };
    events.subscribeFamily(nodeTopic(''), (nodeId) => {
      this.#quiet.get(nodeId)?.changed();
      for (const poll of commands.parked.of(nodeId)) this.#wake(poll);
    });
    events.onReconnect(() => {
      for (const quiet of this.#quiet.values()) quiet.changed();
      // Thousands at once would leave no connection of the database to anybody else.
      const withinMs = this.#all.size * lookAgainMs;
      for (const poll of this.#all) setTimeout(() => this.#wake(poll, false), Math.random() * withinMs).unref();
    });
  }

  /** Begins to keep what is known of a node whose channel was opened here, until `forget`. */
  watch(nodeId: string): QuietNode {
    // What nobody tells of changes any more is never quiet.
    this.#quiet.get(nodeId)?.retire();
    const quiet = new QuietNode();
    this.#quiet.set(nodeId, quiet);
    return quiet;
  }

  forget(nodeId: string, quiet: QuietNode): void {
    if (this.#quiet.get(nodeId) === quiet) this.#quiet.delete(nodeId);
  }

  /**
   * Begins a poll, which ends once: when there are commands, or one of those running is withdrawn, after `wait` seconds, when it is `end`ed, or fails with
   * `device_secret_invalid` as soon as the node is revoked. What it answers was leased to the device: `putBack` its leases when the answer can't be sent.
   */
  begin<To>(
    device: DeviceIdentity,
    { wait, max, running, runningIsComplete }: PollQuery,
    { secretHash, isConfirmed, quiet }: PollContext,
    ends: PollEnds<To>,
    to: To,
  ): WaitingPoll<To> {
    const deadline = performance.now() + wait * 1000;
    const held = running.length === 0 ? none : running;
    const request = {
      device,
      secretHash,
      isConfirmed,
      max,
      running: held,
      isOnlyOne: runningIsComplete,
      deadline,
      quiet,
    };
    const poll = new WaitingPoll(request, ends, to);
    const waiting = poll as WaitingPoll;
    this.#makePlace(waiting);
    // Heard of before the first look, so that no command between the two is missed.
    this.#all.add(waiting);
    this.#deps.commands.parked.add(waiting);
    if (runningIsComplete && quiet?.isQuiet(running) === true) this.#park(waiting);
    else void this.#look(waiting, runningIsComplete, false);
    return poll;
  }

  /** Waits for the end of a poll; empty once `signal` aborts. */
  poll(
    device: DeviceIdentity,
    query: PollQuery,
    signal: AbortSignal,
    context: PollContext = knowsNodeOnly,
  ): Promise<HandOut> {
    if (signal.aborted) return Promise.resolve(nothing());
    const { promise, resolve, reject } = Promise.withResolvers<HandOut>();
    const poll = this.begin(
      device,
      query,
      context,
      { answered: (_poll, handedOut) => resolve(handedOut), failed: (_poll, error) => reject(error) },
      null,
    );
    const onAbort = () => this.end(poll);
    signal.addEventListener('abort', onAbort, { once: true });
    return promise.finally(() => signal.removeEventListener('abort', onAbort));
  }

  /** Ends a poll: empty, unless something is being leased to it. */
  end<To>(poll: WaitingPoll<To>): void {
    poll.aborted = true;
    this.#endSoon(poll as WaitingPoll);
  }

  /** Gives commands back whose answer could not be sent. When that fails, too, their leases run out. */
  async putBack(device: DeviceIdentity, { leases }: HandOut): Promise<void> {
    await this.#deps.commands.putBack(device, leases).catch(() => undefined);
  }

  /** Ends the polls of a device that a new one leaves no place: empty, for what a poll was handed it brings along. */
  #makePlace({ request }: WaitingPoll): void {
    const { nodeId } = request.device;
    const { parked } = this.#deps.commands;
    // A device that waits in one poll at a time has given up the one before, whose connection may not know it yet.
    if (request.isOnlyOne) for (const older of parked.of(nodeId)) if (older.request.isOnlyOne) this.#giveUp(older);
    const [oldest] = parked.of(nodeId);
    if (oldest !== undefined && parked.of(nodeId).length >= maxPollsOfDevice) this.#giveUp(oldest);
  }

  #giveUp(poll: WaitingPoll): void {
    this.#deps.commands.parked.remove(poll);
    this.#endSoon(poll);
  }

  #endSoon(poll: WaitingPoll): void {
    if (poll.isParked) this.#finish(poll, nothing());
    else poll.isEnding = true;
  }

  #wake(poll: WaitingPoll, isTold = true): void {
    if (poll.isParked) void this.#look(poll, false, isTold);
    else poll.isWoken = true;
  }

  #take(poll: WaitingPoll, handedOut: HandOut): boolean {
    if (!poll.isParked) return false;
    for (const { id } of handedOut.answer.commands) poll.request.quiet?.handedOut(id);
    this.#finish(poll, handedOut);
    return true;
  }

  #park(poll: WaitingPoll): void {
    poll.isParked = true;
    poll.isKept = false;
    if (this.#deadlines === undefined) this.#deadlines = setTimeout(() => this.#endLate(), deadlineEveryMs);
  }

  /** Ends those that waited long enough. What was missed until then the next poll finds. */
  #endLate(): void {
    const until = performance.now() + deadlineEveryMs;
    for (const poll of this.#all) {
      if (!poll.isParked || poll.request.deadline > until) continue;
      if (poll.request.secretHash !== null) this.#deps.secrets.rested(poll.request.device.nodeId);
      this.#finish(poll, nothing());
    }
    const { isInterrupted } = this.#deps.events;
    const lookEveryMs = isInterrupted ? interruptedEveryMs : missedEveryMs;
    if (!this.#isLookingForMissed && performance.now() - this.#lookedForMissedAt >= lookEveryMs)
      void this.#lookForMissed(isInterrupted);
    this.#deadlines = this.#all.size === 0 ? undefined : setTimeout(() => this.#endLate(), deadlineEveryMs);
  }

  /** Wakes polls for commands whose event was lost. Never rejects. */
  async #lookForMissed(isInterrupted: boolean): Promise<void> {
    this.#isLookingForMissed = true;
    const { secrets, commands } = this.#deps;
    const nodeIds = new Set<string>();
    for (const { isParked, request } of this.#all)
      if (isParked && (isInterrupted || request.quiet !== null)) nodeIds.add(request.device.nodeId);
    const all = [...nodeIds];
    for (let from = 0; from < all.length; from += maxLooks) {
      // The next time finds what this one could not.
      const wanted = await secrets.wanted(all.slice(from, from + maxLooks)).catch(() => []);
      for (const nodeId of wanted) for (const poll of commands.parked.of(nodeId)) this.#wake(poll);
    }
    this.#isLookingForMissed = false;
    this.#lookedForMissedAt = performance.now();
  }

  #finish(poll: WaitingPoll, handedOut: HandOut): void {
    this.#leave(poll);
    poll.ends.answered(poll, handedOut);
  }

  #leave(poll: WaitingPoll): void {
    poll.isParked = false;
    poll.isOver = true;
    this.#all.delete(poll);
    this.#deps.commands.parked.remove(poll);
  }

  /** Never rejects. */
  async #look(poll: WaitingPoll, isRunningComplete: boolean, isTold: boolean): Promise<void> {
    const { request } = poll;
    poll.isParked = false;
    try {
      // Only the first look can rest on what the device said: what is leased later may be on its way there.
      for (let [isComplete, told] = [isRunningComplete, isTold]; ; [isComplete, told] = [false, true]) {
        poll.isWoken = false;
        const { quiet } = request;
        const [changes, at] = [quiet?.changes ?? 0, performance.now()];
        const handedOut =
          !told && (await this.#finds(request)) === 'nothing' ? nothing() : await this.#handOut(poll, isComplete);
        const { commands, withdrawn } = handedOut.answer;
        if (isComplete && commands.length < request.max && withdrawn.length === 0)
          quiet?.looked(changes, at, [...request.running, ...commands.map(({ id }) => id)]);
        const isSomething = commands.length > 0 || withdrawn.length > 0;
        if (isSomething || poll.isEnding || request.deadline <= performance.now()) {
          this.#finish(poll, handedOut);
          return;
        }
        if (!poll.isWoken) break;
      }
      this.#park(poll);
    } catch (error) {
      this.#leave(poll);
      poll.ends.failed(poll, error);
    }
  }

  /** Confirms the device where that is not done, and looks whether there may be something: with all that look in that moment. */
  async #finds(request: WaitingPoll['request']): Promise<'nothing' | 'something'> {
    const { device, secretHash, isConfirmed, running, deadline } = request;
    if (secretHash === null || (isConfirmed && running.length > 0)) return 'something';
    const seen = await this.#deps.secrets.look({ nodeId: device.nodeId, secretHash }, deadline > performance.now());
    if (seen === null) throw revoked();
    request.isConfirmed = true;
    return running.length === 0 && !seen.hasOpen ? 'nothing' : 'something';
  }

  async #handOut(poll: WaitingPoll, isRunningComplete: boolean): Promise<HandOut> {
    const { device, max, running } = poll.request;
    // Nothing is written for somebody who has gone meanwhile.
    if (poll.aborted) return nothing();
    const handedOut = await this.#deps.commands.handOut(device, { max, running, isRunningComplete }, poll);
    if (handedOut === null) throw revoked();
    return handedOut;
  }
}

function revoked(): AppError {
  return new AppError('device_secret_invalid', 'This device is not paired any more; pair it again.');
}
