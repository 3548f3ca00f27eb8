/** A call that was refused, or that somebody in distress made. */
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

/** Entries that one softphone makes in a minute, of each kind. */
const maxAMinute = 30;
const minuteMs = 60_000;
const maxShownLength = 64;
// What no page shows, and no database takes.
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** What was dialled, as it can be written down. */
const shown = (dialled: string): string =>
  dialled.slice(0, maxShownLength).toWellFormed().replaceAll(hidden, '\u{fffd}');

/** Writes down what one softphone was refused: so much a minute, and of the rest how many there were. */
export class CallAudit implements Disposable {
  readonly #write: (entry: CallAuditEntry) => void;
  /** By whether somebody was in distress: of that nothing is left out for what else is refused. */
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
    if (minute.count <= maxAMinute) this.#write({ action, details: { dialled: shown(dialled), reason } });
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
