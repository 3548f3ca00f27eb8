import type { Store } from './state.ts';
import type { TabStorage } from './tab-storage.ts';

/** What the tab has of it: without an owner while it is not known whose it will be. */
interface StoredDraft {
  text: string;
  visitorId: string | null;
}

/** What is typed and not sent yet; a tab may see one visitor after another, and shows none what another typed. */
export class Draft {
  readonly #store: Store;
  readonly #storage: TabStorage;
  #visitorId: string | null = null;

  constructor(store: Store, storage: TabStorage) {
    this.#store = store;
    this.#storage = storage;
    const before = this.#read();
    store.set({ draft: before !== null && before.visitorId === null ? before.text : '' });
  }

  get text(): string {
    return this.#store.state.draft;
  }

  set(text: string): void {
    this.#store.set({ draft: text });
    this.#storage.set('draft', text === '' ? null : ({ text, visitorId: this.#visitorId } satisfies StoredDraft));
  }

  /**
   * From here on it is this visitor's: what they typed before is there again, and what anybody else did is gone.
   * @param isCarriedOver whether they are the anonymous visitor who typed here, signed in.
   */
  assignTo(visitorId: string, isCarriedOver = false): void {
    const before = this.#read();
    this.#visitorId = visitorId;
    this.set(isCarriedOver || before?.visitorId === visitorId ? (before?.text ?? '') : '');
  }

  #read(): StoredDraft | null {
    return this.#storage.get<StoredDraft>('draft');
  }
}
