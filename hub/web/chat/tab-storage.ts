/** The session that a tab keeps over a reload, and whether a token of somebody's led to it. */
export interface StoredSession {
  token: string;
  isKnown: boolean;
}

/** Keeps a frame's values in the page around it. */
export interface HostStorage {
  /** What it kept before. */
  saved: string | null;
  save: (values: string | null) => void;
}

/**
 * What a tab keeps of a chat over a reload: in the storage of its session. Browsers that block third-party storage give a frame none: the page around it
 * keeps the values then. Without either they last as long as the page.
 */
export class TabStorage {
  readonly #prefix: string;
  readonly #storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'key' | 'length'> | null;
  readonly #memory = new Map<string, string>();

  readonly #host: HostStorage | null;

  /**
   * @param visit of which it is: what another visit of the same site left is taken away.
   * @param host used only where there is no storage.
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

  /** @param value null to forget it. */
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
      // Full, or not allowed: it lasts as long as the page then.
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
      // Not written by this page.
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

/** The storage of this tab's session; null where the browser lets the page have none. */
export function openSessionStorage(): Storage | null {
  try {
    return window.sessionStorage;
  } catch {
    return null;
  }
}
