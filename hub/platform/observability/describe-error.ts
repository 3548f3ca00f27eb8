import { AppError } from '../../../shared/errors.ts';

/** Logged depth of causes, errors per AggregateError, and stack frames per error. */
const maxDepth = 4;
const maxErrors = 3;
const maxFrames = 12;

/**
 * Error fields that never contain user data: SQLSTATE and object names of PostgreSQL, system calls and addresses of
 * Node.js.
 */
const safeFields = [
  'severity',
  'schema',
  'table',
  'column',
  'constraint',
  'dataType',
  'routine',
  'syscall',
  'errno',
  'address',
  'port',
  'responseCode',
  'statusCode',
] as const;
const safeValue = /^[\w.:-]{1,100}$/;
const codePattern = /^[A-Z0-9_]{2,60}$/;
/** AppError codes whose messages never quote a caller or a remote side. */
const codesWithSafeMessages = new Set(['unavailable', 'internal', 'not_available', 'conflict']);

/** Stack frames without the message above them, which can span lines and contain anything. */
export function framesOf(error: Error): string[] {
  const stack = typeof error.stack === 'string' ? error.stack : '';
  const at = error.message === '' ? -1 : stack.indexOf(error.message);
  const below = at === -1 ? stack : stack.slice(at + error.message.length);
  return below
    .split('\n')
    .filter((line) => /^ {4}at [^"'`{}]+$/.test(line))
    .slice(0, maxFrames)
    .map((line) => line.trim());
}

/**
 * Converts an error for the log: its class, code and stack, at any depth of its causes. Messages are omitted unless
 * they are the hub's own: those of libraries quote SQL parameters, row keys, headers, URLs with passwords and remote
 * responses.
 */
export function describeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return { type: typeof error };
  const fields = error as Error & { code?: unknown; cause?: unknown; errors?: unknown; query?: unknown } & Record<
      string,
      unknown
    >;
  const own = error instanceof AppError ? error : null;
  const safe = safeFields.flatMap((name) => {
    const value = fields[name];
    return typeof value === 'number' || (typeof value === 'string' && safeValue.test(value))
      ? [[name, value] as const]
      : [];
  });
  const { code, cause, errors } = fields;
  const frames = framesOf(error);
  // A Redis error begins with its code, such as NOAUTH or OOM. The rest can quote the command.
  const reply = error.constructor.name === 'ReplyError' ? /^[A-Z]{2,20}(?= )/.exec(error.message)?.[0] : undefined;
  return {
    type: error.constructor.name,
    ...(own !== null && codesWithSafeMessages.has(own.code) ? { message: own.message } : {}),
    ...(own !== null || typeof code === 'number' || (typeof code === 'string' && codePattern.test(code))
      ? { code }
      : reply === undefined
        ? {}
        : { code: reply }),
    ...Object.fromEntries(safe),
    ...(own?.internal === undefined ? {} : { internal: own.internal }),
    ...(frames.length === 0 ? {} : { stack: frames.join('\n') }),
    ...(cause === undefined || depth >= maxDepth ? {} : { cause: describeError(cause, depth + 1) }),
    ...(Array.isArray(errors) && depth < maxDepth
      ? { errors: errors.slice(0, maxErrors).map((one) => describeError(one, depth + 1)) }
      : {}),
  };
}

/** Describes an error in one line for standard error: the hub's own message, or the class and the first stack frame. */
export function explainError(error: unknown): string {
  if (error instanceof AppError) return error.message;
  if (!(error instanceof Error)) return `a ${typeof error} was thrown`;
  const { code, syscall } = error as NodeJS.ErrnoException;
  const kind = typeof code === 'string' && codePattern.test(code) ? code : error.constructor.name;
  const [frame] = framesOf(error);
  return `${kind}${typeof syscall === 'string' && safeValue.test(syscall) ? ` in ${syscall}` : ''}${frame === undefined ? '' : ` ${frame}`}`;
}
