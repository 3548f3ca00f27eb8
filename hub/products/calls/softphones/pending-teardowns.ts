import type { Database } from '../../../platform/db/database.ts';
import type { SipServer } from '../sip/index.ts';
import { serverConcurrency } from './call-leases.ts';

export interface PendingTeardownsOptions {
  db: Database;
  /** Null without a SIP server. */
  server: Pick<SipServer, 'callsOf' | 'end' | 'forget'> | null;
}

interface PendingTeardown {
  tenantId: string;
  username: string;
  leftAt: Date;
  /** Whether the workspace opted in again after it left. */
  isActiveAgain: boolean;
}

const maxTeardownsPerPass = 100;
const maxCallsPerPass = 100;
/** A phone that registered just before the opt-out can start its call a moment later. */
const minSeconds = 5;
/** Maximum call duration of the SIP server. */
const maxHours = 5;

/**
 * Ends the calls and registrations of workspaces that left hosted SIP or were removed.
 * This includes calls of phones with a SIP password, which are not stored in the database.
 */
export class PendingTeardowns {
  readonly #options: PendingTeardownsOptions;

  constructor(options: PendingTeardownsOptions) {
    this.#options = options;
  }

  /** @throws Error if the server does not answer. The next run continues. */
  async run(): Promise<void> {
    const { db, server } = this.#options;
    await db.systemStatement(
      'drop_sip_teardowns',
      'DELETE FROM sip_teardowns WHERE due_at <= now() AND left_at < now() - make_interval(hours => $1)',
      [maxHours],
    );
    if (server === null) return;
    const due = await db.systemStatement<PendingTeardown & Record<string, unknown>>(
      'read_sip_teardowns',
      `SELECT f.tenant_id AS "tenantId", f.username, f.left_at AS "leftAt", h.tenant_id IS NOT NULL AS "isActiveAgain"
       FROM (SELECT * FROM sip_teardowns WHERE due_at <= now() ORDER BY due_at LIMIT $1) f LEFT JOIN hosted_sip h ON h.tenant_id = f.tenant_id`,
      [maxTeardownsPerPass],
    );
    for (let from = 0; from < due.length; from += serverConcurrency) {
      const outcomes = await Promise.allSettled(
        due.slice(from, from + serverConcurrency).map((teardown) => this.#tearDown(teardown, server)),
      );
      const failed = outcomes.find((outcome) => outcome.status === 'rejected');
      if (failed !== undefined) throw failed.reason as Error;
    }
  }

  async #tearDown(
    { tenantId, username, leftAt, isActiveAgain }: PendingTeardown,
    server: NonNullable<PendingTeardownsOptions['server']>,
  ) {
    if (!isActiveAgain) await server.forget(username);
    const calls = await server.callsOf(username, maxCallsPerPass);
    const old = calls.filter(({ startedAt }) => !isActiveAgain || startedAt <= leftAt);
    // Unanswered calls cannot be ended. A later pass ends them once they are answered.
    for (const { dialog } of old) if (dialog.toTag !== '') await server.end(dialog);
    await this.#options.db.systemStatement(
      'note_sip_teardown',
      `WITH over AS (DELETE FROM sip_teardowns WHERE tenant_id = $1 AND left_at = $2 AND $3 AND left_at < now() - make_interval(secs => $4) RETURNING tenant_id)
       UPDATE sip_teardowns SET due_at = now() + interval '1 second' WHERE tenant_id = $1 AND tenant_id NOT IN (SELECT tenant_id FROM over)`,
      [tenantId, leftAt, old.length === 0 && calls.length < maxCallsPerPass, minSeconds],
    );
  }
}
