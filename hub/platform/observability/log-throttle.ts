import type { pino } from 'pino';
import { AppError } from '../../../shared/errors.ts';

type Logger = pino.Logger;
type Fields = Record<string, unknown>;

export interface LogThrottleOptions {
  /** Milliseconds of a clock that does not jump. */
  now?: () => number;
}

const windowMs = 60_000;
/** Lines of one kind a minute that are no outage: each may be about another run or request. */
const maxOfOneKind = 10;
const maxKinds = 500;
/** What failed no more for so long is over, although nobody said so. */
const expiryMs = 5 * windowMs;
const warnLevel = 40;
const fatalLevel = 60;
const key = Symbol('repeats of a logger');

interface Kind {
  part: string | null;
  message: string;
  /** When the line of this window was written, or the first of its lines. */
  writtenAt: number;
  lines: number;
  /** Not written since `writtenAt`. */
  withheld: number;
  startedAt: number;
  lastAt: number;
  /** Failures of this spell. */
  times: number;
  isOpen: boolean;
  /** Whether a line told of this spell. */
  isLogged: boolean;
}

/** The part that an error says is out of reach, such as `database`, at any depth of its causes. */
function partOf(error: unknown): string | null {
  for (let current = error, depth = 0; current instanceof Error && depth < 5; current = current.cause, depth += 1) {
    const part = current instanceof AppError ? current.internal?.['part'] : undefined;
    if (typeof part === 'string') return part;
  }
  return null;
}

function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const { code } = error as { code?: unknown };
  return `${error.constructor.name} ${String(code)} ${/\n {4}at [^\n]+/.exec(error.stack ?? '')?.[0] ?? ''}`;
}

/**
 * Lets a log say a thing once. What fails as a part (`part` of a line, or of an `AppError` in its causes) is told when it begins, once a minute with a count
 * while it lasts, and once when it works again. Of other warnings and errors ten of one kind a minute are written and the rest counted.
 */
export class LogThrottle {
  readonly #kinds = new Map<string, Kind>();
  readonly #now: () => number;

  constructor({ now = () => performance.now() }: LogThrottleOptions = {}) {
    this.#now = now;
  }

  /** What is to be written of a line: it, with what was withheld before; or null. */
  admit(level: number, fields: Fields, message: string): { fields: Fields; message: string } | null {
    if (level < warnLevel || level >= fatalLevel) return { fields, message };
    const now = this.#now();
    const named = fields['part'];
    const part = partOf(fields['err']) ?? (typeof named === 'string' ? named : null);
    const name = part === null ? `${level} ${message} ${kindOf(fields['err'])}` : `part ${part}`;
    let kind = this.#kinds.get(name);
    if (kind !== undefined && now - kind.lastAt >= expiryMs) {
      this.#kinds.delete(name);
      kind = undefined;
    }
    if (kind === undefined) {
      this.#evictKinds(now);
      kind = {
        part,
        message,
        writtenAt: Number.NEGATIVE_INFINITY,
        lines: 0,
        withheld: 0,
        startedAt: now,
        lastAt: now,
        times: 0,
        isOpen: true,
        isLogged: false,
      };
      this.#kinds.set(name, kind);
    }
    if (!kind.isOpen) Object.assign(kind, { isOpen: true, isLogged: false, startedAt: now, times: 0 });
    kind.lastAt = now;
    kind.times += 1;
    const isNewWindow = now - kind.writtenAt >= windowMs;
    if (!isNewWindow && (part !== null || kind.lines >= maxOfOneKind)) {
      kind.withheld += 1;
      return null;
    }
    const { withheld, isLogged } = kind;
    const lasts =
      part !== null && isLogged ? { times: kind.times, forSeconds: Math.round((now - kind.startedAt) / 1000) } : {};
    Object.assign(kind, {
      isLogged: true,
      withheld: 0,
      lines: isNewWindow ? 1 : kind.lines + 1,
      ...(isNewWindow ? { writtenAt: now } : {}),
    });
    return {
      fields: { ...fields, ...(part === null ? {} : { part }), ...lasts, ...(withheld === 0 ? {} : { withheld }) },
      message: part !== null && isLogged ? `still: ${message}` : message,
    };
  }

  /** Whether a part failed and was not said to work since. */
  isDown(part: string): boolean {
    return this.#kinds.get(`part ${part}`)?.isOpen === true;
  }

  /** Takes note that a part works; what its line should say, or null when nothing told that it did not. */
  recovered(part: string): Fields | null {
    const kind = this.#kinds.get(`part ${part}`);
    if (kind === undefined || !kind.isOpen) return null;
    kind.isOpen = false;
    if (!kind.isLogged) return null;
    const now = this.#now();
    // A part that comes and goes every second is told of once a minute all the same.
    kind.writtenAt = now;
    return { part, times: kind.times, forSeconds: Math.round((now - kind.startedAt) / 1000) };
  }

  #evictKinds(now: number): void {
    if (this.#kinds.size < maxKinds) return;
    for (const [name, kind] of this.#kinds) if (now - kind.lastAt >= expiryMs) this.#kinds.delete(name);
    for (const name of this.#kinds.keys()) {
      if (this.#kinds.size < maxKinds) break;
      this.#kinds.delete(name);
    }
  }
}

/** pino's `logMethod` hook that asks `repeats` about every line. */
export function throttleLogs(throttle: LogThrottle) {
  return function logMethod(this: Logger, args: unknown[], method: (...rest: unknown[]) => void, level: number): void {
    const [first, ...rest] = args;
    const hasFields = typeof first === 'object' && first !== null;
    const fields = first instanceof Error ? { err: first } : hasFields ? (first as Fields) : {};
    const message = hasFields ? rest[0] : first;
    const admitted = throttle.admit(level, fields, typeof message === 'string' ? message : '');
    if (admitted !== null) method.call(this, admitted.fields, admitted.message);
  };
}

/** Ties what withholds its repeats to a logger, and to its children. */
export function attachThrottle(logger: Logger, throttle: LogThrottle): Logger {
  return Object.assign(logger, { [key]: throttle });
}

function throttleOf(logger: Logger): LogThrottle | undefined {
  return (logger as Logger & { [key]?: LogThrottle })[key];
}

/** Says that a part works again, in a line if one told that it did not. */
export function logRecovery(logger: Logger, part: string): void {
  const fields = throttleOf(logger)?.recovered(part);
  if (fields !== undefined && fields !== null) logger.info(fields, `${part} is back`);
}

/** Asks parts that failed from time to time whether they work again, and says so. */
export class RecoveryWatch implements Disposable {
  readonly #timer: NodeJS.Timeout;
  readonly #pinging = new Set<string>();

  constructor(logger: Logger, parts: Record<string, (signal: AbortSignal) => Promise<unknown>>, everyMs = 1_000) {
    this.#timer = setInterval(() => {
      for (const [part, ping] of Object.entries(parts)) {
        if (this.#pinging.has(part) || throttleOf(logger)?.isDown(part) !== true) continue;
        this.#pinging.add(part);
        ping(AbortSignal.timeout(2_000))
          .then(
            () => logRecovery(logger, part),
            () => undefined,
          )
          .finally(() => this.#pinging.delete(part));
      }
    }, everyMs).unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
