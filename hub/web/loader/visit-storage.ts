/** Ties what the frame stores to a visit, and says after a page load whether the visitor has a session to check. */
export interface Visit {
  id: string;
  /** Until when a session may exist, in milliseconds since 1970. */
  until: number;
  /** Whether a token of the host led to the session. */
  isKnown: boolean;
}

/** What the loader stores on the host's origin, only after the visitor opened the chat: a host without storage keeps nothing over a page load. */
export class VisitStorage {
  readonly key: string;
  /** Id of the visit unless one is stored. */
  readonly #newId = Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join('');

  constructor(siteKey: string) {
    this.key = `outrigger.chat.${siteKey}`;
  }

  get visit(): Visit {
    const [id, until, isKnown] = (attempt(() => localStorage.getItem(this.key)) ?? '').split(' ');
    return { id: id || this.#newId, until: Number(until ?? 0), isKnown: isKnown === '1' };
  }

  set visit({ id, until, isKnown }: Visit) {
    attempt(() => localStorage.setItem(this.key, `${id} ${until} ${Number(isKnown)}`));
  }

  /** Whether the chat is open in this tab. */
  get isOpen(): boolean {
    return attempt(() => sessionStorage.getItem(this.key)) !== null;
  }

  set isOpen(isOpen: boolean) {
    attempt(() => (isOpen ? sessionStorage.setItem(this.key, '1') : sessionStorage.removeItem(this.key)));
  }

  /** Kept for a frame that has no storage; null for nothing. */
  get frameData(): string | null {
    return attempt(() => sessionStorage.getItem(`${this.key}.kept`));
  }

  set frameData(value: string | null) {
    const key = `${this.key}.kept`;
    attempt(() => (value === null ? sessionStorage.removeItem(key) : sessionStorage.setItem(key, value)));
  }

  /** @param endsVisit whether the visit ends for all tabs. */
  clear(endsVisit: boolean): void {
    this.isOpen = false;
    this.frameData = null;
    if (endsVisit) attempt(() => localStorage.removeItem(this.key));
  }
}

function attempt<Value>(access: () => Value): Value | null {
  try {
    return access();
  } catch {
    return null;
  }
}
