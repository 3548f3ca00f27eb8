/** A visit: scopes the values that the frame stores, and records until when a session may exist. */
export interface Visit {
  id: string;
  /** The time until which a session may exist, in milliseconds since 1970. */
  until: number;
  /** Whether a token of the host started the session. */
  isKnown: boolean;
}

/**
 * Values that the loader stores on the host's origin, only after the visitor opened the chat. Without storage on the
 * host, nothing survives a page load.
 */
export class VisitStorage {
  readonly key: string;
  /** Id of a new visit, used when no visit is stored. */
  readonly #newId = Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join('');

  constructor(siteKey: string) {
    this.key = `outrigger.chat.${siteKey}`;
  }

  get visit(): Visit {
    const [id, until, isKnown] = (tryAccess(() => localStorage.getItem(this.key)) ?? '').split(' ');
    return { id: id || this.#newId, until: Number(until ?? 0), isKnown: isKnown === '1' };
  }

  set visit({ id, until, isKnown }: Visit) {
    tryAccess(() => localStorage.setItem(this.key, `${id} ${until} ${Number(isKnown)}`));
  }

  /** Whether the chat is open in this tab. */
  get isOpen(): boolean {
    return tryAccess(() => sessionStorage.getItem(this.key)) !== null;
  }

  set isOpen(isOpen: boolean) {
    tryAccess(() => (isOpen ? sessionStorage.setItem(this.key, '1') : sessionStorage.removeItem(this.key)));
  }

  /** Values stored for a frame whose storage the browser blocks; null for none. */
  get frameData(): string | null {
    return tryAccess(() => sessionStorage.getItem(`${this.key}.kept`));
  }

  set frameData(value: string | null) {
    const key = `${this.key}.kept`;
    tryAccess(() => (value === null ? sessionStorage.removeItem(key) : sessionStorage.setItem(key, value)));
  }

  /** @param endsVisit whether the visit ends in all tabs. */
  clear(endsVisit: boolean): void {
    this.isOpen = false;
    this.frameData = null;
    if (endsVisit) tryAccess(() => localStorage.removeItem(this.key));
  }
}

function tryAccess<Value>(access: () => Value): Value | null {
  try {
    return access();
  } catch {
    return null;
  }
}
