/** For how long an agent counts as looking at a conversation who said so, in milliseconds. */
export const viewingMs = 20_000;
const renewMs = 8_000;
const sweepMs = 1_000;

interface View {
  tenantId: string;
  conversationId: string;
  /** Until when each user looks at it. */
  users: Map<string, number>;
}

/** Someone who looks at a conversation through a connection of this process, and does so until it ends. */
export interface LocalView {
  tenantId: string;
  userId: string;
  conversationId: string;
}

/** Who looks at which conversation now, in all processes; of the moment, and kept nowhere. */
export class Viewers implements Disposable {
  readonly #views = new Map<string, View>();
  readonly #local = new Set<LocalView>();
  readonly #told: (view: { tenantId: string; conversationId: string }, userIds: string[]) => void;
  readonly #timers: NodeJS.Timeout[];

  /**
   * @param told hears of each change.
   * @param renew tells all processes of a view that goes on.
   */
  constructor(
    told: (view: { tenantId: string; conversationId: string }, userIds: string[]) => void,
    renew: (view: LocalView) => void,
  ) {
    this.#told = told;
    this.#timers = [
      setInterval(() => this.#sweep(), sweepMs).unref(),
      setInterval(() => this.#local.forEach(renew), renewMs).unref(),
    ];
  }

  [Symbol.dispose](): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  hold(view: LocalView): void {
    this.#local.add(view);
  }

  /** @returns whether the same person looks at it through no other connection of this process. */
  release(view: LocalView): boolean {
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

  heard(tenantId: string, conversationId: string, userId: string, viewing: boolean): void {
    const id = `${tenantId} ${conversationId}`;
    const view = this.#views.get(id) ?? { tenantId, conversationId, users: new Map<string, number>() };
    const wasThere = view.users.has(userId);
    if (viewing) view.users.set(userId, performance.now() + viewingMs);
    else view.users.delete(userId);
    if (view.users.size > 0) this.#views.set(id, view);
    else this.#views.delete(id);
    if (wasThere !== viewing) this.#told(view, this.of(tenantId, conversationId));
  }

  #sweep(): void {
    const now = performance.now();
    for (const [id, view] of this.#views) {
      const gone = [...view.users].filter(([, until]) => until <= now);
      if (gone.length === 0) continue;
      for (const [userId] of gone) view.users.delete(userId);
      if (view.users.size === 0) this.#views.delete(id);
      this.#told(view, this.of(view.tenantId, view.conversationId));
    }
  }
}
