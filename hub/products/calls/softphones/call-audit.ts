/** A call that the hub refused, or an emergency call. */
export interface CallDecision {
  action: 'sip_call.refused' | 'sip_call.emergency';
  dialled: string;
  reason: string;
  isEmergency: boolean;
}

export interface CallAuditEntry {
  action: CallDecision['action'];
  details: { dialled: string; reason: string } | { reason: string; more: number };
}

/** Entries per minute, softphone and kind. */
const maxAMinute = 30;
const minuteMs = 60_000;
const maxDialledLength = 64;
// Characters that are invisible or that PostgreSQL rejects.
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** The dialled address in a form that can be stored and displayed. */
const printable = (dialled: string): string =>
  dialled.slice(0, maxDialledLength).toWellFormed().replaceAll(hidden, '\u{fffd}');

/** Writes audit entries for one softphone. Above the limit per minute it writes only the number of further entries. */
export class CallAudit implements Disposable {
  readonly #write: (entry: CallAuditEntry) => void;
  /** Counters by `isEmergency`, so that refused calls never displace entries of emergency calls. */
  readonly #minutes = new Map<boolean, { count: number; timer: NodeJS.Timeout; action: CallDecision['action'] }>();

  constructor(write: (entry: CallAuditEntry) => void) {
    this.#write = write;
  }

  add({ action, dialled, reason, isEmergency }: CallDecision): void {
    const minute = this.#minutes.get(isEmergency) ?? {
      count: 0,
      action,
      timer: setTimeout(() => this.#sum(isEmergency), minuteMs).unref(),
    };
    this.#minutes.set(isEmergency, minute);
    minute.count += 1;
    if (minute.count <= maxAMinute) this.#write({ action, details: { dialled: printable(dialled), reason } });
  }

  [Symbol.dispose](): void {
    for (const isEmergency of this.#minutes.keys()) this.#sum(isEmergency);
  }

  #sum(isEmergency: boolean): void {
    const minute = this.#minutes.get(isEmergency);
    if (minute === undefined) return;
    clearTimeout(minute.timer);
    this.#minutes.delete(isEmergency);
    const more = minute.count - maxAMinute;
    if (more > 0) this.#write({ action: minute.action, details: { reason: 'Too Many To List', more } });
  }
}
