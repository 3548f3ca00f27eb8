import type { Store } from './state.ts';
import type { TabStorage } from './tab-storage.ts';

/** The stored draft. It has no visitor until the visitor is known. */
interface StoredDraft {
  text: string;
  visitorId: string | null;
}

/** The unsent text. Several visitors may use a tab one after another; each sees only their own draft. */
export class Draft {
  readonly #store: Store;
  readonly #storage: TabStorage;
  #visitorId: string | null = null;

  constructor(store: Store, storage: TabStorage) {
    this.#store = store;
    this.#storage = storage;
    const stored = this.#read();
    store.set({ draft: stored !== null && stored.visitorId === null ? stored.text : '' });
  }

  get text(): string {
    return this.#store.state.draft;
  }

  set(text: string): void {
    this.#store.set({ draft: text });
    this.#storage.set('draft', text === '' ? null : ({ text, visitorId: this.#visitorId } satisfies StoredDraft));
  }

  /**
   * Assigns the draft to a visitor: restores the visitor's stored draft and deletes another visitor's.
   * @param isCarriedOver whether the visitor is the anonymous visitor who typed here and has signed in.
   */
  assignTo(visitorId: string, isCarriedOver = false): void {
    const stored = this.#read();
    this.#visitorId = visitorId;
    this.set(isCarriedOver || stored?.visitorId === visitorId ? (stored?.text ?? '') : '');
  }

  #read(): StoredDraft | null {
    return this.#storage.get<StoredDraft>('draft');
  }
}
