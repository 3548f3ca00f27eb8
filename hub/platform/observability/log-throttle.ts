import type { pino } from 'pino';
import { AppError } from '../../../shared/errors.ts';

type Logger = pino.Logger;
type Fields = Record<string, unknown>;

export interface LogThrottleOptions {
  /** Milliseconds of a monotonic clock. */
  now?: () => number;
}

const windowMs = 60_000;
/** Lines per minute of one kind that is not an outage. Each line can be about another run or request. */
const maxOfOneKind = 10;
const maxKinds = 500;
/** A kind without failures for this long counts as recovered, even without a report. */
const expiryMs = 5 * windowMs;
const warnLevel = 40;
const fatalLevel = 60;
const key = Symbol('throttle of a logger');

/** A group of log lines: an outage of one part, or lines with the same level, message and origin. */
interface Kind {
  part: string | null;
  message: string;
  /** Start of the current window: when its first line was written. */
  writtenAt: number;
  lines: number;
  /** Lines suppressed since `writtenAt`. */
  withheld: number;
  startedAt: number;
  lastAt: number;
  /** Failures since `startedAt`. */
  times: number;
  isOpen: boolean;
  /** Whether a line was written since `startedAt`. */
  isLogged: boolean;
}

/** The unavailable part of the hub, such as `database`, that an error or one of its causes names. */
function partOf(error: unknown): string | null {
  for (let current = error, depth = 0; current instanceof Error && depth < 5; current = current.cause, depth += 1) {
    const part = current instanceof AppError ? current.internal?.['part'] : undefined;
    if (typeof part === 'string') return part;
  }
  return null;
}

/** Groups errors by class, code and first stack frame. */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const { code } = error as { code?: unknown };
  return `${error.constructor.name} ${String(code)} ${/\n {4}at [^\n]+/.exec(error.stack ?? '')?.[0] ?? ''}`;
}

/**
 * Suppresses repeated log lines.
 * An outage of a part is logged when it begins, once a minute with a count, and when it ends. The part is a field of
 * the line, or of an `AppError` in its causes. Of other warnings and errors, ten lines of one kind are logged per
 * minute and the rest are counted.
 */
export class LogThrottle {
  readonly #kinds = new Map<string, Kind>();
  readonly #now: () => number;

  constructor({ now = () => performance.now() }: LogThrottleOptions = {}) {
    this.#now = now;
  }

  /** Returns the line to write, with the number of suppressed lines before it; null to suppress the line. */
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
    const durationFields =
      part !== null && isLogged ? { times: kind.times, forSeconds: Math.round((now - kind.startedAt) / 1000) } : {};
    Object.assign(kind, {
      isLogged: true,
      withheld: 0,
      lines: isNewWindow ? 1 : kind.lines + 1,
      ...(isNewWindow ? { writtenAt: now } : {}),
    });
    return {
      fields: {
        ...fields,
        ...(part === null ? {} : { part }),
        ...durationFields,
        ...(withheld === 0 ? {} : { withheld }),
      },
      message: part !== null && isLogged ? `still: ${message}` : message,
    };
  }

  /** Whether a part failed and has not recovered. */
  isDown(part: string): boolean {
    return this.#kinds.get(`part ${part}`)?.isOpen === true;
  }

  /**
   * Records the recovery of a part. Returns the fields of the line to write, or null when its failure was never logged.
   */
  recovered(part: string): Fields | null {
    const kind = this.#kinds.get(`part ${part}`);
    if (kind === undefined || !kind.isOpen) return null;
    kind.isOpen = false;
    if (!kind.isLogged) return null;
    const now = this.#now();
    // A part that fails and recovers every second is also logged once a minute only.
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

/** Creates the `logMethod` hook of pino that applies a throttle to every line. */
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

/** Attaches a throttle to a logger and to its child loggers. */
export function attachThrottle(logger: Logger, throttle: LogThrottle): Logger {
  return Object.assign(logger, { [key]: throttle });
}

function throttleOf(logger: Logger): LogThrottle | undefined {
  return (logger as Logger & { [key]?: LogThrottle })[key];
}

/** Logs the recovery of a part, if its failure was logged. */
export function logRecovery(logger: Logger, part: string): void {
  const fields = throttleOf(logger)?.recovered(part);
  if (fields !== undefined && fields !== null) logger.info(fields, `${part} is available again`);
}

/** Checks failed parts periodically, and logs when they recover. */
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
