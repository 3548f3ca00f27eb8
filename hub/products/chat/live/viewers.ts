/** An agent counts as a viewer of a conversation for this long after each update. */
export const viewingMs = 20_000;
const renewMs = 8_000;
const sweepMs = 1_000;

interface View {
  tenantId: string;
  conversationId: string;
  /** Expiry of each viewer by user id, in milliseconds of `performance.now()`. */
  users: Map<string, number>;
}

/** An agent who views a conversation through a connection of this process, until the connection ends. */
export interface LocalView {
  tenantId: string;
  userId: string;
  conversationId: string;
}

/** The current viewers of each conversation, over all processes. They are kept in memory only. */
export class Viewers implements Disposable {
  readonly #views = new Map<string, View>();
  readonly #local = new Set<LocalView>();
  readonly #onChange: (view: { tenantId: string; conversationId: string }, userIds: string[]) => void;
  readonly #timers: NodeJS.Timeout[];

  /**
   * @param onChange called after each change of a conversation's viewers.
   * @param renew publishes to all processes that a local view continues.
   */
  constructor(
    onChange: (view: { tenantId: string; conversationId: string }, userIds: string[]) => void,
    renew: (view: LocalView) => void,
  ) {
    this.#onChange = onChange;
    this.#timers = [
      setInterval(() => this.#sweep(), sweepMs).unref(),
      setInterval(() => this.#local.forEach(renew), renewMs).unref(),
    ];
  }

  [Symbol.dispose](): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  add(view: LocalView): void {
    this.#local.add(view);
  }

  /** @returns whether the user views the conversation through no other connection of this process. */
  remove(view: LocalView): boolean {
    this.#local.delete(view);
    return ![...this.#local].some(
      ({ userId, conversationId }) => userId === view.userId && conversationId === view.conversationId,
    );
  }

  of(tenantId: string, conversationId: string): string[] {
    const now = performance.now();
    const view = this.#views.get(`${tenantId} ${conversationId}`);
    return [...(view?.users ?? [])].flatMap(([userId, until]) => (until > now ? [userId] : [])).toSorted();
  }

  update(tenantId: string, conversationId: string, userId: string, viewing: boolean): void {
    const id = `${tenantId} ${conversationId}`;
    const view = this.#views.get(id) ?? { tenantId, conversationId, users: new Map<string, number>() };
    const wasViewing = view.users.has(userId);
    if (viewing) view.users.set(userId, performance.now() + viewingMs);
    else view.users.delete(userId);
    if (view.users.size > 0) this.#views.set(id, view);
    else this.#views.delete(id);
    if (wasViewing !== viewing) this.#onChange(view, this.of(tenantId, conversationId));
  }

  #sweep(): void {
    const now = performance.now();
    for (const [id, view] of this.#views) {
      const expired = [...view.users].filter(([, until]) => until <= now);
      if (expired.length === 0) continue;
      for (const [userId] of expired) view.users.delete(userId);
      if (view.users.size === 0) this.#views.delete(id);
      this.#onChange(view, this.of(view.tenantId, view.conversationId));
    }
  }
}
