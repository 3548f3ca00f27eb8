import type { PoolClient, QueryConfig, QueryResult, QueryResultRow } from 'pg';
import type { Events } from '../events/events.ts';
import { isInFailedTransaction } from './errors.ts';
import { drizzle } from './orm.ts';
import type { NodePgDatabase } from './orm.ts';

/**
 * A transaction: Drizzle's query builder, and `query` for a statement whose plan should be prepared once for each
 * connection.
 */
export type Transaction = NodePgDatabase & {
  query: PreparedQuery;
  /**
   * Calls `effect` after the commit of the transaction, in the order of the calls. It is dropped if the transaction, or
   * its part of a joined transaction, is rolled back, also before it is tried again. An effect must not throw: what it
   * throws is logged, because the transaction took effect. An effect that is registered after the end of the transaction, or
   * of its part, is ignored.
   */
  onCommit: (effect: () => void) => void;
  /**
   * Publishes an event to all processes after the commit, in the order of the calls, also among the effects. Dropped as
   * an effect is.
   */
  publish: Events['publish'];
  /**
   * Marks rows of a topic of `LiveTopics` as changed. After the commit, the followers of the topic in all processes are
   * woken, once for each transaction and topic. Unlike `publish`, it sends nothing when no process follows the topic, and
   * at most one event per topic and 150 ms. Dropped as an effect is.
   */
  changed: (topic: string) => void;
  /** Tells workers after the commit that a workspace has due runs. Dropped as an effect is. */
  wakeWorkers: (tenantId: string) => void;
};
export type PreparedQuery = <Row extends QueryResultRow>(
  name: string,
  text: string,
  values: unknown[],
) => Promise<QueryResult<Row>>;

/** What has to wait for the commit of a transaction. */
export interface Pending {
  /** Topics of changed rows. */
  topics: Set<string>;
  /** Effects and events, in the order of the calls. */
  effects: ((publish: Events['publish']) => void)[];
  /** Workspaces with due runs. */
  due: Set<string>;
}

const newPending = (): Pending => ({ topics: new Set(), effects: [], due: new Set() });

const pendings = new WeakMap<Transaction, Pending>();
const commits = new WeakMap<Transaction, () => void>();

/**
 * The same transaction for a part of it, which may be rolled back alone. What has to wait for the commit belongs to the
 * part until `keep` hands it to the whole.
 */
export function openPart(tx: Transaction): { part: Transaction; keep: () => void } {
  const pending = newPending();
  const part = Object.assign(Object.create(tx) as Transaction, collectorOf(pending));
  pendings.set(part, pending);
  return {
    part,
    keep() {
      const whole = pendings.get(tx);
      for (const topic of pending.topics) whole?.topics.add(topic);
      for (const effect of pending.effects) whole?.effects.push(effect);
      for (const tenantId of pending.due) whole?.due.add(tenantId);
    },
  };
}

/** The functions of a transaction that collect what has to wait for its commit. */
const collectorOf = ({
  topics,
  effects,
  due,
}: Pending): Pick<Transaction, 'onCommit' | 'publish' | 'changed' | 'wakeWorkers'> => ({
  onCommit: (effect) => {
    effects.push(effect);
  },
  publish: (topic, payload) => {
    effects.push((publish) => publish(topic, payload));
  },
  changed: (topic) => {
    topics.add(topic);
  },
  wakeWorkers: (tenantId) => {
    due.add(tenantId);
  },
});

/** Has the commit of a transaction that began as not durable wait for the disk after all. */
export async function commitDurably(tx: Transaction): Promise<void> {
  await tx.query('commit_durably', 'SET LOCAL synchronous_commit = on', []);
}

/**
 * Has the commit leave right behind what was sent, without waiting for the answers: to be called where nothing hangs on them. Nothing more
 * can be sent; should a statement fail, nothing is committed. Within a joined transaction it changes nothing.
 */
export function pipelineCommit(tx: Transaction): void {
  commits.get(tx)?.();
}

/** Keeps parts of a transaction, who don't know of each other, from committing it. */
export function keepOpen(tx: Transaction): void {
  commits.delete(tx);
}

const gathering = new WeakSet<object>();

/** Has all that is sent in this turn of the loop leave in one piece: each piece costs the hub more than what is in it. */
export function gatherWrites({ connection: { stream } }: PoolClient): void {
  if (gathering.has(stream)) return;
  gathering.add(stream);
  stream.cork();
  process.nextTick(() => {
    gathering.delete(stream);
    stream.uncork();
  });
}

/**
 * Does the work of a transaction, and returns with its result what has to wait for the commit. When one of several
 * concurrent statements has failed, the others may still send further ones. Those are refused, because the connection may
 * belong to another transaction then.
 */
export async function workOn<Result>(
  client: PoolClient,
  work: (tx: Transaction) => Promise<Result>,
  commit: () => void,
): Promise<{ answer: Result; pending: Pending }> {
  let isOver = false;
  let firstFailure: Error | undefined;
  const query = ((...given: [QueryConfig]): Promise<QueryResult> => {
    if (isOver) return Promise.reject(new Error('the transaction is over'));
    gatherWrites(client);
    const answer = client.query(...given);
    answer.catch((error: Error) => (firstFailure ??= error));
    return answer;
  }) as PoolClient['query'];
  const own = Object.create(client, { query: { value: query } }) as PoolClient;
  const pending = newPending();
  const tx = Object.assign(drizzle({ client: own }), collectorOf(pending), {
    query: ((name, text, values) => query({ name, text, values })) as PreparedQuery,
  });
  pendings.set(tx, pending);
  commits.set(tx, () => {
    isOver = true;
    commit();
  });
  try {
    return { answer: await work(tx), pending };
  } catch (error) {
    // Statements that were sent behind the one which failed say only that something did.
    throw isInFailedTransaction(error) ? firstFailure : error;
  } finally {
    isOver = true;
  }
}
