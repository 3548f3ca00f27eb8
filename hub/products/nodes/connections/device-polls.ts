import type { z } from 'zod';
import type { nodes as resource } from '../../../../shared/contract/nodes/nodes.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { Events } from '../../../platform/events/events.ts';
import { NodeIdleState, WaitingPoll, nodeTopic } from '../commands/index.ts';
import type { PollResult, NodeCommands, PollCallbacks } from '../commands/index.ts';
import type { DeviceSecrets } from '../devices/index.ts';
import type { DeviceIdentity } from '../store.ts';

export interface DevicePollsDependencies {
  events: Events;
  /** Whether the events of another process may not reach this one. */
  hasInterruption: () => boolean;
  commands: Pick<NodeCommands, 'leaseCommands' | 'returnLeases' | 'waitingPolls'>;
  secrets: Pick<DeviceSecrets, 'checkIn' | 'pollTimedOut' | 'findNodesToWake'>;
}

/** The parameters of a poll, from the HTTP operation or from a channel. */
export type PollQuery = z.output<typeof resource.pollAutomationNodeCommands.query>;

/** The authentication state and the cached idle state of a polling device. */
export interface PollContext {
  /** Base64 hash of the secret with which the device is authenticated again. */
  secretHash: string;
  isConfirmed: boolean;
  idleState: NodeIdleState | null;
}

/** After missed events all polls query the database, spread over this many milliseconds per poll. */
const wakeMsPerPoll = 2.5;
/**
 * Waiting polls per device and process. A companion needs one, and a second one while the connection of the first one
 * breaks.
 */
const maxPollsPerDevice = 8;
/**
 * Interval between checks for pending commands whose event was lost, in milliseconds.
 * The first interval applies to polls of channels, which wait longer than any HTTP request. The second one applies to
 * all polls while the events between processes are interrupted.
 */
const missedCheckIntervalMs = 30_000;
const interruptedCheckIntervalMs = 1_000;
/** Nodes that one statement checks. */
const maxNodesPerCheck = 1_000;
/** Interval between checks for expired polls, in milliseconds. A poll may end this much before its deadline. */
const deadlineCheckIntervalMs = 250;

const noCommands: string[] = [];
const emptyResult = (): PollResult => ({ response: { commands: [], withdrawn: [] }, leases: [] });

/**
 * The polls of devices in this process. To save memory, a waiting poll has no timer, subscription or promise of its
 * own.
 */
export class DevicePolls {
  readonly #deps: DevicePollsDependencies;
  readonly #polls = new Set<WaitingPoll>();
  /** Idle state of each node with a channel in this process, as used by its newest channel. */
  readonly #idleStates = new Map<string, NodeIdleState>();
  #deadlineTimer: NodeJS.Timeout | undefined;
  #missedCheckedAt = performance.now();
  #isCheckingMissed = false;

  constructor(dependencies: DevicePollsDependencies) {
    this.#deps = dependencies;
    const { events, commands } = dependencies;
    commands.waitingPolls.controller = {
      complete: (poll, result) => this.#complete(poll, result),
      wake: (poll) => this.#wake(poll),
    };
    events.subscribeFamily(nodeTopic(''), (nodeId) => {
      this.#idleStates.get(nodeId)?.changed();
      for (const poll of commands.waitingPolls.of(nodeId)) this.#wake(poll);
    });
    events.onReconnect(() => {
      for (const idleState of this.#idleStates.values()) idleState.changed();
      // Thousands of simultaneous queries would use all database connections.
      const spreadMs = this.#polls.size * wakeMsPerPoll;
      for (const poll of this.#polls) setTimeout(() => this.#wake(poll, false), Math.random() * spreadMs).unref();
    });
  }

  /** Creates the idle state of a node for a new channel. It receives change events until `forget`. */
  watch(nodeId: string): NodeIdleState {
    // The state of an older channel receives no more change events, so it must not skip a query.
    this.#idleStates.get(nodeId)?.disable();
    const idleState = new NodeIdleState();
    this.#idleStates.set(nodeId, idleState);
    return idleState;
  }

  forget(nodeId: string, idleState: NodeIdleState): void {
    if (this.#idleStates.get(nodeId) === idleState) this.#idleStates.delete(nodeId);
  }

  /**
   * Starts a poll. It ends when commands are leased, when a command in `running` is withdrawn, after `wait` seconds, or
   * with `end`. It fails with `device_secret_invalid` when the node is revoked.
   * When the response cannot be sent, the caller must pass the result to `returnLeases`.
   */
  begin<To>(
    device: DeviceIdentity,
    { wait, max, running, runningIsComplete }: PollQuery,
    { secretHash, isConfirmed, idleState }: PollContext,
    callbacks: PollCallbacks<To>,
    to: To,
  ): WaitingPoll<To> {
    const deadline = performance.now() + wait * 1000;
    const runningIds = running.length === 0 ? noCommands : running;
    const request = {
      device,
      secretHash,
      isConfirmed,
      max,
      running: runningIds,
      hasSinglePoll: runningIsComplete,
      deadline,
      idleState,
    };
    const poll = new WaitingPoll(request, callbacks, to);
    const waiting = poll as WaitingPoll;
    this.#endOlderPolls(waiting);
    // The poll is registered before the first query, so that it misses no event in between.
    this.#polls.add(waiting);
    this.#deps.commands.waitingPolls.add(waiting);
    if (runningIsComplete && idleState?.isIdle(running) === true) this.#startWaiting(waiting);
    else this.#startQuery(waiting, runningIsComplete, false);
    return poll;
  }

  /** Starts a poll and returns its result, which is empty once `signal` aborts. */
  poll(device: DeviceIdentity, query: PollQuery, signal: AbortSignal, context: PollContext): Promise<PollResult> {
    if (signal.aborted) return Promise.resolve(emptyResult());
    const { promise, resolve, reject } = Promise.withResolvers<PollResult>();
    const poll = this.begin(
      device,
      query,
      context,
      { answered: (_poll, result) => resolve(result), failed: (_poll, error) => reject(error) },
      null,
    );
    const onAbort = () => this.end(poll);
    signal.addEventListener('abort', onAbort, { once: true });
    return promise.finally(() => signal.removeEventListener('abort', onAbort));
  }

  /** Ends a poll with an empty result, or with the result of the query in progress. */
  end<To>(poll: WaitingPoll<To>): void {
    poll.aborted = true;
    this.#endAfterQuery(poll as WaitingPoll);
  }

  /** Returns the leases of a response that could not be sent. If this fails, the leases expire. */
  returnLeases(device: DeviceIdentity, { leases }: PollResult): void {
    this.#deps.commands.returnLeases(device, leases).catch(() => undefined);
  }

  /** Ends polls that a new poll of the same device replaces, and the oldest poll when the device has too many. */
  #endOlderPolls({ request }: WaitingPoll): void {
    const { nodeId } = request.device;
    const { waitingPolls } = this.#deps.commands;
    // A device with a single poll has abandoned its previous one, even if that connection still looks open.
    if (request.hasSinglePoll)
      for (const older of waitingPolls.of(nodeId)) if (older.request.hasSinglePoll) this.#evict(older);
    const [oldest] = waitingPolls.of(nodeId);
    if (oldest !== undefined && waitingPolls.of(nodeId).length >= maxPollsPerDevice) this.#evict(oldest);
  }

  #evict(poll: WaitingPoll): void {
    this.#deps.commands.waitingPolls.remove(poll);
    this.#endAfterQuery(poll);
  }

  #endAfterQuery(poll: WaitingPoll): void {
    if (poll.isWaiting) this.#finish(poll, emptyResult());
    else poll.isEnding = true;
  }

  #wake(poll: WaitingPoll, isEvent = true): void {
    if (poll.isWaiting) this.#startQuery(poll, false, isEvent);
    else poll.isWoken = true;
  }

  #complete(poll: WaitingPoll, result: PollResult): boolean {
    if (!poll.isWaiting) return false;
    for (const { id } of result.response.commands) poll.request.idleState?.leased(id);
    this.#finish(poll, result);
    return true;
  }

  #startWaiting(poll: WaitingPoll): void {
    poll.isWaiting = true;
    poll.isReserved = false;
    if (this.#deadlineTimer === undefined)
      this.#deadlineTimer = setTimeout(() => this.#endExpired(), deadlineCheckIntervalMs);
  }

  /** Ends expired polls, and starts a check for missed events when it is due. */
  #endExpired(): void {
    const until = performance.now() + deadlineCheckIntervalMs;
    for (const poll of this.#polls) {
      if (!poll.isWaiting || poll.request.deadline > until) continue;
      this.#deps.secrets.pollTimedOut(poll.request.device.nodeId);
      this.#finish(poll, emptyResult());
    }
    const isInterrupted = this.#deps.events.isInterrupted || this.#deps.hasInterruption();
    const checkIntervalMs = isInterrupted ? interruptedCheckIntervalMs : missedCheckIntervalMs;
    if (!this.#isCheckingMissed && performance.now() - this.#missedCheckedAt >= checkIntervalMs)
      // After an error, the next check finds the commands.
      this.#wakeMissed(isInterrupted)
        .catch(() => undefined)
        .finally(() => {
          this.#isCheckingMissed = false;
          this.#missedCheckedAt = performance.now();
        });
    this.#deadlineTimer =
      this.#polls.size === 0 ? undefined : setTimeout(() => this.#endExpired(), deadlineCheckIntervalMs);
  }

  /** Wakes the polls of nodes with a pending command whose event was lost. */
  async #wakeMissed(isInterrupted: boolean): Promise<void> {
    this.#isCheckingMissed = true;
    const { secrets, commands } = this.#deps;
    const nodeIds = new Set<string>();
    for (const { isWaiting, request } of this.#polls)
      if (isWaiting && (isInterrupted || request.idleState !== null)) nodeIds.add(request.device.nodeId);
    const all = [...nodeIds];
    for (let from = 0; from < all.length; from += maxNodesPerCheck) {
      const toWake = await secrets.findNodesToWake(all.slice(from, from + maxNodesPerCheck));
      for (const nodeId of toWake) for (const poll of commands.waitingPolls.of(nodeId)) this.#wake(poll);
    }
  }

  #finish(poll: WaitingPoll, result: PollResult): void {
    this.#remove(poll);
    poll.callbacks.answered(poll, result);
  }

  #remove(poll: WaitingPoll): void {
    poll.isWaiting = false;
    poll.isOver = true;
    this.#polls.delete(poll);
    this.#deps.commands.waitingPolls.remove(poll);
  }

  /**
   * Queries the database until the poll ends or must wait. A failure ends the poll.
   * @param isEvent whether a change event arrived, so that the check-in is skipped.
   */
  #startQuery(poll: WaitingPoll, isRunningComplete: boolean, isEvent: boolean): void {
    this.#query(poll, isRunningComplete, isEvent).catch((error: unknown) => {
      this.#remove(poll);
      poll.callbacks.failed(poll, error);
    });
  }

  async #query(poll: WaitingPoll, isRunningComplete: boolean, isEvent: boolean): Promise<void> {
    const { request } = poll;
    poll.isWaiting = false;
    // Only the first query may use `isRunningComplete`: a command that is leased later may not have arrived yet.
    for (let [isComplete, hasEvent] = [isRunningComplete, isEvent]; ; [isComplete, hasEvent] = [false, true]) {
      poll.isWoken = false;
      const { idleState } = request;
      const [changes, at] = [idleState?.changes ?? 0, performance.now()];
      const result =
        !hasEvent && (await this.#checkIn(request)) === 'nothing'
          ? emptyResult()
          : await this.#leaseCommands(poll, isComplete);
      const { commands, withdrawn } = result.response;
      if (isComplete && commands.length < request.max && withdrawn.length === 0)
        idleState?.recordPoll(changes, at, [...request.running, ...commands.map(({ id }) => id)]);
      const hasContent = commands.length > 0 || withdrawn.length > 0;
      if (hasContent || poll.isEnding || request.deadline <= performance.now()) {
        this.#finish(poll, result);
        return;
      }
      if (!poll.isWoken) break;
    }
    this.#startWaiting(poll);
  }

  /**
   * Authenticates the device if needed, and returns whether it may have a command. Concurrent calls share a statement.
   */
  async #checkIn(request: WaitingPoll['request']): Promise<'nothing' | 'something'> {
    const { device, secretHash, isConfirmed, running, deadline } = request;
    if (isConfirmed && running.length > 0) return 'something';
    const checkedIn = await this.#deps.secrets.checkIn(
      { nodeId: device.nodeId, secretHash },
      deadline > performance.now(),
    );
    if (checkedIn === null) throw revokedError();
    request.isConfirmed = true;
    return running.length === 0 && !checkedIn.hasOpenCommands ? 'nothing' : 'something';
  }

  async #leaseCommands(poll: WaitingPoll, isRunningComplete: boolean): Promise<PollResult> {
    const { device, max, running } = poll.request;
    // The client disconnected, so no command may be leased to it.
    if (poll.aborted) return emptyResult();
    const result = await this.#deps.commands.leaseCommands(device, { max, running, isRunningComplete }, poll);
    if (result === null) throw revokedError();
    return result;
  }
}

function revokedError(): AppError {
  return new AppError('device_secret_invalid', 'This device is no longer paired; pair it again.');
}
