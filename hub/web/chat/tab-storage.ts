/** The session of a tab, and whether a token identified its visitor. */
export interface StoredSession {
  token: string;
  isKnown: boolean;
  /** Missing if an earlier version of the page stored the session. */
  conversationId?: string;
}

/** Stores a frame's values in the host's page. */
export interface HostStorage {
  /** The values stored earlier. */
  saved: string | null;
  save: (values: string | null) => void;
}

/**
 * The values of a chat that survive a reload of the tab, in the session storage.
 * Browsers that block third-party storage give a frame no session storage; then the host's page stores the values.
 * Without either, the values last until the page closes.
 */
export class TabStorage {
  readonly #prefix: string;
  readonly #storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'key' | 'length'> | null;
  readonly #memory = new Map<string, string>();

  readonly #host: HostStorage | null;

  /**
   * @param visit scopes the values; values of other visits of the same site are deleted.
   * @param host used only without a session storage.
   */
  constructor(storage: Storage | null, siteKey: string, visit: string, host: HostStorage | null = null) {
    const site = `outrigger.chat.${siteKey}.`;
    this.#prefix = `${site}${visit}.`;
    this.#storage = storage;
    this.#host = storage === null ? host : null;
    this.#loadFromHost();
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

  /** @param value null deletes the value. */
  set(name: string, value: unknown): void {
    const key = this.#prefix + name;
    this.#memory.delete(key);
    try {
      if (value === null) {
        this.#storage?.removeItem(key);
        this.#saveInHost();
        return;
      }
      if (this.#storage === null) throw new Error('no storage');
      this.#storage.setItem(key, JSON.stringify(value));
    } catch {
      // The storage is full or blocked: the value lasts until the page closes, or is stored by the host.
      if (value !== null) this.#memory.set(key, JSON.stringify(value));
      this.#saveInHost();
    }
  }

  wipe(): void {
    this.#memory.clear();
    this.#saveInHost();
    this.#remove((key) => key.startsWith(this.#prefix));
  }

  #loadFromHost(): void {
    try {
      const entries = JSON.parse(this.#host?.saved ?? '{}') as Record<string, string>;
      for (const [key, text] of Object.entries(entries)) if (key.startsWith(this.#prefix)) this.#memory.set(key, text);
    } catch {
      // The stored text is not valid JSON, so it is ignored.
    }
  }

  #saveInHost(): void {
    this.#host?.save(this.#memory.size === 0 ? null : JSON.stringify(Object.fromEntries(this.#memory)));
  }

  #remove(matches: (key: string) => boolean): void {
    const storage = this.#storage;
    if (storage === null) return;
    const keys = Array.from({ length: storage.length }, (_none, index) => storage.key(index) ?? '');
    for (const key of keys) if (matches(key)) storage.removeItem(key);
  }
}

/** Returns the session storage; null when the browser blocks it. */
export function openSessionStorage(): Storage | null {
  try {
    return window.sessionStorage;
  } catch {
    return null;
  }
}
