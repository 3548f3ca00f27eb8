import type {
  AppState,
  CompanionBridge,
  WindowEvent,
  WindowMethodName,
  WindowParams,
  WindowResult,
} from '../../shared/companion/app.ts';
import type { OwnerChange, TestResult } from '../../shared/companion/control.ts';
import type { CompanionState, HistoryEntry } from '../../shared/companion/state.ts';
import { background } from '../../shared/web/background.ts';
import { Store } from '../../shared/web/store.ts';

declare global {
  interface Window {
    readonly companion: CompanionBridge;
  }
}

/** A failed call to the companion or the app. The message is shown to the owner. */
export class CompanionError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The data of the window. Unchanged parts stay the same object. Null means not loaded yet. */
export interface WindowData {
  state: CompanionState | null;
  app: AppState | null;
  history: readonly HistoryEntry[] | null;
  /** Results of the running check, or of the previous check. */
  results: readonly TestResult[];
  /** Why the companion cannot be reached. Null if it can. */
  unreachable: string | null;
  /** How often the window was shown again after it was hidden. */
  timesShown: number;
}

/** Entries of the history that the window keeps, newest first. */
export const historyLimit = 1_000;
const firstRetryMs = 500;
const maxRetryMs = 5_000;

/** Keeps the state of the companion and of the app up to date. Each change creates a new data object. */
export class CompanionStore {
  readonly #bridge: CompanionBridge;
  readonly #store = new Store<WindowData>({
    state: null,
    app: null,
    history: null,
    results: [],
    unreachable: null,
    timesShown: 0,
  });
  #retry: ReturnType<typeof setTimeout> | undefined;
  #retryMs = firstRetryMs;
  #isConnecting = false;

  constructor(bridge: CompanionBridge) {
    this.#bridge = bridge;
  }

  readonly subscribe = (listener: () => void): (() => void) => this.#store.subscribe(listener);

  readonly read = (): WindowData => this.#store.state;

  /** Subscribes to events for the lifetime of the page. */
  start(): void {
    this.#bridge.onEvent((event) => this.#handleEvent(event));
    background(this.#connect());
  }

  /** @throws CompanionError */
  async call<Name extends WindowMethodName>(method: Name, params: WindowParams<Name>): Promise<WindowResult<Name>> {
    const response = await this.#bridge.call(method, params).catch((error: unknown) => {
      throw new CompanionError('unavailable', `The app does not answer: ${String(error)}`);
    });
    if ('error' in response) throw new CompanionError(response.error.code, response.error.message);
    return response.result as WindowResult<Name>;
  }

  /** @throws CompanionError */
  async change(change: OwnerChange): Promise<void> {
    this.setState(await this.call('change', change));
  }

  setState(state: CompanionState): void {
    this.#set({ state: reuseUnchanged(this.#store.state.state, state), unreachable: null });
  }

  setApp(app: AppState): void {
    this.#set({ app: reuseUnchanged(this.#store.state.app, app) });
  }

  setResults(results: readonly TestResult[]): void {
    this.#set({ results });
  }

  async #connect(): Promise<void> {
    if (this.#isConnecting) return;
    this.#isConnecting = true;
    clearTimeout(this.#retry);
    try {
      this.setApp(await this.call('app.state', {}));
      this.setState(await this.call('subscribe', {}));
      const { entries } = await this.call('history', { limit: historyLimit });
      this.#set({ history: mergeEntries(this.#store.state.history ?? [], entries) });
      this.#retryMs = firstRetryMs;
    } catch (error) {
      this.#set({ unreachable: error instanceof Error ? error.message : String(error) });
      this.#retry = setTimeout(() => background(this.#connect()), this.#retryMs);
      this.#retryMs = Math.min(this.#retryMs * 2, maxRetryMs);
    } finally {
      this.#isConnecting = false;
    }
  }

  #handleEvent(event: WindowEvent): void {
    if (event.event === 'state') this.setState(event.state);
    else if (event.event === 'command')
      this.#set({ history: mergeEntries(this.#store.state.history ?? [], [event.entry]) });
    else if (event.event === 'shown') this.#set({ timesShown: this.#store.state.timesShown + 1 });
    else if (event.event === 'test') {
      const others = this.#store.state.results.filter(({ part }) => part !== event.result.part);
      this.#set({ results: [...others, event.result] });
    } else {
      const wasRunning = isRunning(this.#store.state.app);
      this.setApp(event.state);
      // The state of a stopped companion is outdated. After a restart, the state must be loaded again.
      if (isRunning(event.state) && !wasRunning) background(this.#connect());
      else if (!isRunning(event.state)) this.#set({ unreachable: event.state.runtime.detail ?? 'It is not running.' });
    }
  }

  #set(part: Partial<WindowData>): void {
    const known = this.#store.state;
    const isSame = Object.entries(part).every(([name, value]) => known[name as keyof WindowData] === value);
    if (!isSame) this.#store.set(part);
  }
}

const isRunning = (app: AppState | null) => app?.runtime.state === 'running' || app?.runtime.state === 'attached';

/** Returns `next`, with unchanged parts replaced by the objects of `known`, so that components skip rendering. */
function reuseUnchanged<Value>(known: unknown, next: Value): Value {
  if (typeof known !== 'object' || typeof next !== 'object' || known === null || next === null) return next;
  if (Array.isArray(known) !== Array.isArray(next)) return next;
  const before = new Map(Object.entries(known));
  const parts = Object.entries(next).map(([name, value]) => [name, reuseUnchanged(before.get(name), value)] as const);
  if (parts.length === before.size && parts.every(([name, part]) => before.has(name) && before.get(name) === part))
    return known as Value;
  return (Array.isArray(next) ? parts.map(([, part]) => part) : Object.fromEntries(parts)) as Value;
}

/** Successful pings are dropped first when the history is full. */
const isSuccessfulPing = ({ type, outcome }: HistoryEntry) => type === 'node.ping' && outcome === 'succeeded';

/** Trims the history to its limit: first the oldest successful pings, then the oldest entries. */
function trimHistory(entries: HistoryEntry[]): HistoryEntry[] {
  if (entries.length <= historyLimit) return entries;
  const oldest = entries.findLastIndex(isSuccessfulPing);
  return trimHistory(oldest === -1 ? entries.slice(0, historyLimit) : entries.toSpliced(oldest, 1));
}

const isNewer = (one: HistoryEntry, other: HistoryEntry) => one.time > other.time;

/** Newest first, one entry for each command. */
function mergeEntries(known: readonly HistoryEntry[], more: readonly HistoryEntry[]): HistoryEntry[] {
  // While commands run, entries arrive one at a time and nearly always are the newest.
  const [added] = more;
  if (more.length === 1 && added !== undefined) {
    const others = known.filter(({ commandId }) => commandId !== added.commandId);
    const index = others.findIndex((entry) => !isNewer(entry, added));
    return trimHistory(others.toSpliced(index === -1 ? others.length : index, 0, added));
  }
  const byId = new Map([...known, ...more].map((entry) => [entry.commandId, entry]));
  return trimHistory([...byId.values()].toSorted((one, other) => (one.time < other.time ? 1 : -1)));
}
