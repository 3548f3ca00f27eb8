/** Why a server stopped, in one line, from the log of its last start. */
export function failureReason(log: string): string {
  const lines = log.trim().split('\n');
  // Refused connections are also logged as FATAL: "the database system is starting up".
  const last = lines.findLast((line) => /(PANIC|FATAL): (?! *the database system is)/.test(line)) ?? lines.at(-1) ?? '';
  return last.replace(/^.*?(?=(PANIC|FATAL): )/, '').replace(/\s+/g, ' ') || 'no reason given';
}

/** Why initdb failed, in one line. Its last line names the folder that it removes, not the error. */
export function initdbFailureReason(error: unknown, timeoutSeconds: number): string {
  const { stderr = '', killed, message } = error as { stderr?: string; killed?: boolean; message?: string };
  if (killed === true) return `initdb did not finish within ${timeoutSeconds} seconds`;
  const lines = stderr.split('\n').filter((line) => /(PANIC|FATAL|error): /.test(line));
  return lines.length > 0 ? failureReason(lines.join('\n')) : ((message ?? String(error)).split('\n')[0] ?? '');
}
