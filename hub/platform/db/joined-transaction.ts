import { AsyncLocalStorage } from 'node:async_hooks';
import { openPart } from './transaction.ts';
import type { Transaction } from './transaction.ts';

const current = new AsyncLocalStorage<JoinedTransaction>();

/** Whose rows a part of a joined transaction sees. */
export interface PartScope {
  /** SQL that says so. */
  begin: string;
  /** The workspace of the part; null when it sees all. */
  tenantId: string | null;
}

/**
 * A transaction that others join: each of them becomes a savepoint of it, one after another, and is undone alone when it fails;
 * nothing of any is durable, nor told to others, before the whole commits.
 */
export class JoinedTransaction {
  readonly #owner: object;
  readonly #tx: Transaction;
  readonly #scope: string;
  readonly #root: JoinedTransaction;
  #tail: Promise<unknown> = Promise.resolve();
  #isOpen = true;
  #tenantId: string | null = null;

  /** @param scope SQL that says whose rows it sees itself. */
  constructor(owner: object, tx: Transaction, scope: string, root?: JoinedTransaction) {
    this.#owner = owner;
    this.#tx = tx;
    this.#scope = scope;
    this.#root = root ?? this;
  }

  /** The one of a database that the code which asks runs in, as long as it is open. */
  static of(owner: object): JoinedTransaction | undefined {
    const joined = current.getStore();
    return joined !== undefined && joined.#owner === owner && joined.isOpen ? joined : undefined;
  }

  /** False once its work has ended: what that left running in the background must not write into a transaction that is over. */
  get isOpen(): boolean {
    return this.#isOpen && this.#root.#isOpen;
  }

  /** The workspace of the first part that had one. */
  get tenantId(): string | null {
    return this.#root.#tenantId;
  }

  /** Runs `work` with every transaction that it opens joined to this one. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await current.run(this, work);
    } finally {
      this.#isOpen = false;
    }
  }

  /** Runs a part: its own transaction, if it were alone. Parts take turns, because they share a connection. */
  part<Result>(scope: PartScope, work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    this.#root.#tenantId ??= scope.tenantId;
    const turn = this.#tail.then(() => this.#savepoint(scope, work));
    this.#tail = turn.catch(() => undefined);
    return turn;
  }

  async #savepoint<Result>({ begin }: PartScope, work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    const { part, keep } = openPart(this.#tx);
    const nested = new JoinedTransaction(this.#owner, part, begin, this.#root);
    await this.#tx.query('', `SAVEPOINT part; ${begin}`, []);
    try {
      const result = await nested.run(() => work(part));
      await this.#tx.query('', `${this.#scope}; RELEASE SAVEPOINT part`, []);
      keep();
      return result;
    } catch (error) {
      // When the connection is gone the whole fails with it, and the first error says why.
      await this.#tx.query('', 'ROLLBACK TO SAVEPOINT part; RELEASE SAVEPOINT part', []).catch(() => undefined);
      throw error;
    }
  }
}
