import { AppError } from '../../../shared/errors.ts';

/** SQLSTATEs and socket errors that say that the database can't be reached now, rather than that a query was wrong. */
const unavailableCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'ENOENT',
  '57P01',
  '57P02',
  '57P03',
  '53300',
  '08000',
  '08003',
  '08006',
  '25006',
]);
/** SQLSTATEs of what went wrong only because of what else went on: a lock or a statement that took too long. */
const busyCodes = new Set(['55P03', '57014', '25P03']);
/** Deadlock and serialization: the same transaction goes through as soon as the other one is over. */
const conflictCodes = new Set(['40001', '40P01']);
/** SQLSTATE of what the user of the connection may not do. */
const forbiddenCodes = new Set(['42501']);
const diskFullCodes = new Set(['53100', 'ENOSPC']);

function some(error: unknown, matches: (error: Error & { code?: unknown }) => boolean): boolean {
  for (let current = error, depth = 0; current instanceof Error && depth < 5; current = current.cause, depth += 1)
    if (matches(current)) return true;
  return false;
}

const hasCode = (error: unknown, codes: ReadonlySet<string>) =>
  some(error, ({ code }) => typeof code === 'string' && codes.has(code));

/** Whether another transaction got in the way of this one. */
export const isConflict = (error: unknown) => hasCode(error, conflictCodes);
export const isDiskFull = (error: unknown) => hasCode(error, diskFullCodes);
export const isForbidden = (error: unknown) => hasCode(error, forbiddenCodes);

/** Whether an error means that the database is out of reach, at any depth of its causes. */
export function isDatabaseUnavailable(error: unknown): boolean {
  return (
    hasCode(error, unavailableCodes) ||
    some(error, ({ message }) =>
      /Connection terminated|Query read timeout|timeout exceeded when trying to connect|connection error and is not queryable/i.test(
        message,
      ),
    )
  );
}

/** The database can't do now what it may do later; nothing is wrong with what was asked for. */
export class DatabaseOutage extends AppError {
  constructor(message: string, cause: unknown, retryAfterSeconds = 1) {
    super('unavailable', message, { cause, retryAfterSeconds, internal: { part: 'database' } });
    this.name = 'DatabaseOutage';
  }
}

/** The database was reached, but what was asked for waited too long for what somebody else does, or got in its way: the rest of a batch may go through. */
export class DatabaseBusy extends DatabaseOutage {
  constructor(message: string, cause: unknown) {
    super(message, cause);
    this.name = 'DatabaseBusy';
  }
}

/** Thrown by a transaction that found the rows changed under it: it is rolled back and run again. */
export class TransactionConflict extends Error {
  readonly code = '40001';
}

/** An error as an outage, when it is one; null when something is wrong with what was asked for. */
export function toOutage(error: unknown): DatabaseOutage | null {
  if (error instanceof DatabaseOutage) return error;
  if (hasCode(error, diskFullCodes))
    return new DatabaseOutage(
      'The disk of the database is full, so nothing can be written; the operator of this hub has to make room. Try again then.',
      error,
      10,
    );
  if (isDatabaseUnavailable(error))
    return new DatabaseOutage('The database is out of reach; try again shortly.', error);
  if (hasCode(error, busyCodes) || hasCode(error, conflictCodes))
    return new DatabaseBusy('The database is too busy now; try again shortly.', error);
  return null;
}

/** The constraint that a statement broke, or undefined when the error is another one. */
export function violatedConstraint(error: unknown): string | undefined {
  for (let current = error, depth = 0; current instanceof Error && depth < 5; current = current.cause, depth += 1) {
    const { code, constraint } = current as { code?: unknown; constraint?: unknown };
    if (code === '23505' && typeof constraint === 'string') return constraint;
  }
  return undefined;
}

/**
 * A number as SQL, which fails its transaction unless a condition holds: so that what is to be done only then can be sent right behind.
 * @param condition SQL that is true or false, as only rows can tell.
 */
export const assertedText = (condition: string): string => `1 / (${condition})::int`;

/** Whether a statement found that such a condition does not hold: SQLSTATE of a division by zero. */
export const isAssertionFailed = (error: unknown): boolean => hasCode(error, new Set(['22012']));

/** Whether a statement was not looked at, because another of its transaction had failed. */
export const isInFailedTransaction = (error: unknown): boolean => hasCode(error, new Set(['25P02']));

/** Whether a statement wrote where only reading was allowed. */
export const isWriteRefused = (error: unknown): boolean => hasCode(error, new Set(['25006']));
