import type { z } from 'zod';
import { logs as resource } from '../../../../shared/contract/automations/logs.ts';
import { notFound } from '../../../../shared/errors.ts';
import { readPage } from '../../../platform/cursor.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database } from '../../../platform/db/database.ts';
import { and, asc, desc, eq, gt, gte, lt } from '../../../platform/db/orm.ts';
import type { Follower, LiveTopics } from '../../../platform/events/live-topics.ts';
import { idBefore } from '../../../platform/ids.ts';
import { logsTopic, messagesTopic } from './record.ts';
import { messages } from './schema.ts';
import { searchLogs, searchLogsAround } from './search.ts';
import { clockSlackMs, followLogs, isRun } from './store.ts';
import type { LogRow, Period } from './store.ts';
import { logText } from './text.ts';

type MessageQuery = z.output<typeof resource.listAutomationMessages.query>;
type LogQuery = z.output<typeof resource.listAutomationLogs.query>;
type LogDownload = z.output<typeof resource.downloadAutomationRunLogs.query>;
export type LogFilter = z.output<typeof resource.streamAutomationLogs.query>;
export type MessageFilter = z.output<typeof resource.streamAutomationMessages.query>;
type MessageRow = typeof messages.$inferSelect;

/** Lines per statement of a download. A line has at most 10,000 characters. */
const downloadPageLines = 500;

/** A period as a range of ids and of times: the ids select the range in the index, the times limit it exactly. */
function within({ from, to }: Period) {
  const start = from === undefined ? undefined : new Date(from);
  const end = to === undefined ? undefined : new Date(to);
  return and(
    start === undefined
      ? undefined
      : and(gte(messages.createdAt, start), gt(messages.id, idBefore(new Date(start.getTime() - clockSlackMs)))),
    end === undefined
      ? undefined
      : and(lt(messages.createdAt, end), lt(messages.id, idBefore(new Date(end.getTime() + clockSlackMs)))),
  );
}

function matchesMessage(filter: MessageFilter) {
  return and(
    filter.runId === undefined ? undefined : eq(messages.runId, filter.runId),
    filter.workflowId === undefined ? undefined : eq(messages.workflowId, filter.workflowId),
    filter.channel === undefined ? undefined : eq(messages.channel, filter.channel),
    filter.status === undefined ? undefined : eq(messages.status, filter.status),
  );
}

export function presentMessage({ tenantId: _own, createdAt, ...row }: MessageRow) {
  return { ...row, createdAt: createdAt.toISOString() };
}

export function presentLog(row: LogRow) {
  return {
    id: row.id,
    runId: row.runId,
    workflowId: row.workflowId,
    stepIndex: row.stepIndex,
    level: row.level,
    message: row.message,
    createdAt: row.createdAt.toISOString(),
  };
}

/** Log lines and outbound messages of runs. */
export class Logs {
  readonly #deps: { db: Database; cursors: Cursors; live: LiveTopics };

  constructor(dependencies: { db: Database; cursors: Cursors; live: LiveTopics }) {
    this.#deps = dependencies;
  }

  listMessages(tenantId: string, query: MessageQuery) {
    const read = (limit: number, before: string | undefined) =>
      this.#deps.db.read(tenantId, (tx) =>
        tx
          .select()
          .from(messages)
          .where(
            and(
              eq(messages.tenantId, tenantId),
              matchesMessage(query),
              within(query),
              before === undefined ? undefined : lt(messages.id, before),
            ),
          )
          .orderBy(desc(messages.id))
          .limit(limit),
      );
    return readPage(this.#deps.cursors, `messages:${tenantId}`, query, read, presentMessage);
  }

  /** A page of log lines. @throws AppError `invalid_cursor`. */
  async listLogs(tenantId: string, { limit, cursor, order, around, ...search }: LogQuery) {
    const { db, cursors } = this.#deps;
    const scope = `logs:${tenantId}`;
    const after = cursor === undefined ? undefined : cursors.decode(scope, cursor);
    const { rows, next } = await db.read(tenantId, (tx) =>
      around === undefined || after !== undefined
        ? searchLogs(tx, tenantId, search, { order, after }, limit)
        : searchLogsAround(tx, tenantId, search, { order, around }, limit),
    );
    return {
      data: rows.map(presentLog),
      meta: { limit, nextCursor: next === null ? null : cursors.encode(scope, next) },
    };
  }

  /** The log of a run as text, in pieces, oldest line first. @throws AppError `not_found`, before the first piece. */
  async downloadLog(tenantId: string, runId: string, filter: LogDownload): Promise<AsyncIterable<string>> {
    const { db } = this.#deps;
    if (!(await db.read(tenantId, (tx) => isRun(tx, tenantId, runId)))) throw notFound('run', runId);
    const readLines = (after: string | undefined) =>
      db.read(tenantId, (tx) =>
        searchLogs(tx, tenantId, { ...filter, runId }, { order: 'asc', after }, downloadPageLines),
      );
    return (async function* pieces() {
      let after: string | undefined;
      do {
        const { rows, next } = await readLines(after);
        if (rows.length > 0) yield rows.map(logText).join('');
        after = next ?? undefined;
      } while (after !== undefined);
    })();
  }

  /** Streams the log lines of a workspace as they are committed. */
  followLogs(tenantId: string): Follower {
    return this.#deps.live.follow(logsTopic(tenantId));
  }

  /** Streams the outbound messages of a workspace as they are committed. */
  followMessages(tenantId: string): Follower {
    return this.#deps.live.follow(messagesTopic(tenantId));
  }

  /** Messages with ids greater than one, oldest first. */
  readMessagesAfter(tenantId: string, filter: MessageFilter, afterId: string, limit: number): Promise<MessageRow[]> {
    return this.#deps.db.read(tenantId, (tx) =>
      tx
        .select()
        .from(messages)
        .where(and(eq(messages.tenantId, tenantId), matchesMessage(filter), gt(messages.id, afterId)))
        .orderBy(asc(messages.id))
        .limit(limit),
    );
  }

  /** Log lines with ids greater than one, oldest first. */
  readLogsAfter(tenantId: string, filter: LogFilter, afterId: string, limit: number): Promise<LogRow[]> {
    return this.#deps.db.read(tenantId, (tx) => followLogs(tx, tenantId, filter, afterId, limit));
  }
}
