import { Store } from '../../../../../shared/web/store.ts';
import { Draft } from './draft.ts';

/** The drafts of the signed-in agent, one for each conversation. */
class Drafts {
  /** Conversations with a text or files that are not sent. */
  readonly written = new Store<{ ids: ReadonlySet<string> }>({ ids: new Set() });
  readonly #tenantId: string;
  readonly #prefix: string;
  readonly #drafts = new Map<string, Draft>();

  constructor(tenantId: string, userId: string) {
    this.#tenantId = tenantId;
    this.#prefix = `outrigger.draft.${tenantId}.${userId}.`;
    // Texts of an earlier page.
    for (const key of Object.keys(localStorage))
      if (key.startsWith(this.#prefix)) this.of(key.slice(this.#prefix.length));
    // The browser reports what other tabs write.
    addEventListener('storage', ({ key, newValue }) => {
      if (key?.startsWith(this.#prefix) === true)
        this.#drafts.get(key.slice(this.#prefix.length))?.noteStored(newValue);
    });
  }

  of(id: string): Draft {
    const known = this.#drafts.get(id);
    if (known !== undefined) return known;
    const draft = new Draft({ tenantId: this.#tenantId, id }, this.#prefix + id, () => this.#noteWritten(id));
    this.#drafts.set(id, draft);
    if (!draft.isEmpty) this.#noteWritten(id);
    return draft;
  }

  /** Saves all unsaved texts, after the connection returned or before the page is hidden. */
  flush(): void {
    for (const draft of this.#drafts.values()) draft.flush();
  }

  #noteWritten(id: string): void {
    const ids = new Set(this.written.state.ids);
    ids[this.#drafts.get(id)?.isEmpty === false ? 'add' : 'delete'](id);
    this.written.set({ ids });
  }
}

const ofAgents = new Map<string, Drafts>();

/** The drafts of an agent. They live as long as the page: their files are nowhere else. */
export function draftsOf(tenantId: string, userId: string): Drafts {
  const key = `${tenantId} ${userId}`;
  const drafts = ofAgents.get(key) ?? new Drafts(tenantId, userId);
  ofAgents.set(key, drafts);
  return drafts;
}
