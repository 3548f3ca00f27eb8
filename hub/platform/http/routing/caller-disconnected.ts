/**
 * Abort reason for a request whose caller disconnected or has received the response.
 * One shared instance avoids the cost of a stack trace for each request.
 */
export const callerDisconnected = new DOMException(
  'The caller disconnected, or has received the response.',
  'AbortError',
);
