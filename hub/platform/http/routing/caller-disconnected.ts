/** Why the signal of a request aborts whose caller does not wait any more. Made once: a reason of its own for each request would take the time for a stack trace. */
export const callerDisconnected = new DOMException('The caller went away, or has its answer.', 'AbortError');
