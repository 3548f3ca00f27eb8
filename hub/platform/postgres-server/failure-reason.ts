/** Why a server stopped, in one line, from the log of its last start. */
export function failureReason(log: string): string {
  const lines = log.trim().split('\n');
  // Refused connections are also logged as FATAL: "the database system is starting up".
  const last = lines.findLast((line) => /(PANIC|FATAL): (?! *the database system is)/.test(line)) ?? lines.at(-1) ?? '';
  return last.replace(/^.*?(?=(PANIC|FATAL): )/, '').replace(/\s+/g, ' ') || 'no reason given';
}
