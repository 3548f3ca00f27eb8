/** What a tab keeps of a chat over a reload: in the storage of its session, else, where a browser allows none, in memory. */
export class Kept {
  readonly #prefix: string;
  readonly #storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'key' | 'length'> | null;
  readonly #memory = new Map<string, string>();

  /** @param visit of which it is: what another visit of the same site left is taken away. */
  constructor(storage: Storage | null, siteKey: string, visit: string) {
    const site = `outrigger.chat.${siteKey}.`;
    this.#prefix = `${site}${visit}.`;
    this.#storage = storage;
    this.#remove((key) => key.startsWith(site) && !key.startsWith(this.#prefix));
  }

  get<Value>(name: string): Value | null {
    const key = this.#prefix + name;
    try {
      const text = this.#memory.get(key) ?? this.#storage?.getItem(key) ?? null;
      return text === null ? null : (JSON.parse(text) as Value);
    } catch {
      return null;
    }
  }

  /** @param value null to forget it. */
  set(name: string, value: unknown): void {
    const key = this.#prefix + name;
    this.#memory.delete(key);
    try {
      if (value === null) {
        this.#storage?.removeItem(key);
        return;
      }
      if (this.#storage === null) throw new Error('no storage');
      this.#storage.setItem(key, JSON.stringify(value));
    } catch {
      // Full, or not allowed: it lasts as long as the page then.
      if (value !== null) this.#memory.set(key, JSON.stringify(value));
    }
  }

  wipe(): void {
    this.#memory.clear();
    this.#remove((key) => key.startsWith(this.#prefix));
  }

  #remove(matches: (key: string) => boolean): void {
    const storage = this.#storage;
    if (storage === null) return;
    const keys = Array.from({ length: storage.length }, (_none, index) => storage.key(index) ?? '');
    for (const key of keys) if (matches(key)) storage.removeItem(key);
  }
}

/** The storage of this tab's session; null where the browser lets the page have none. */
export function tabStorage(): Storage | null {
  try {
    return window.sessionStorage;
  } catch {
    return null;
  }
}
