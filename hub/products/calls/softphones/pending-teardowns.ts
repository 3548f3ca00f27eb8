import type { Database } from '../../../platform/db/database.ts';
import type { SipServer } from '../sip/index.ts';
import { asksAtOnce } from './call-leases.ts';

export interface PendingTeardownsOptions {
  db: Database;
  /** Null where the operator has none. */
  server: Pick<SipServer, 'callsOf' | 'end' | 'forget'> | null;
}

interface PendingTeardown {
  tenantId: string;
  username: string;
  leftAt: Date;
  /** Whether it opted in again meanwhile. */
  isBack: boolean;
}

const maxTeardownsPerPass = 100;
const callsAtOnce = 100;
/** A phone that was let in just before its workspace left may begin its call a moment later. */
const leastSeconds = 5;
/** The SIP server lets no call last longer. */
const mostHours = 5;

/** Ends what the SIP server has of workspaces that left hosted SIP, or are gone: also calls of phones that have a password, of which this hub knows nothing. */
export class PendingTeardowns {
  readonly #options: PendingTeardownsOptions;

  constructor(options: PendingTeardownsOptions) {
    this.#options = options;
  }

  /** @throws Error where the server does not answer; what is left is done the next time. */
  async take(): Promise<void> {
    const { db, server } = this.#options;
    await db.systemStatement(
      'drop_sip_farewells',
      'DELETE FROM sip_farewells WHERE due_at <= now() AND left_at < now() - make_interval(hours => $1)',
      [mostHours],
    );
    if (server === null) return;
    const due = await db.systemStatement<PendingTeardown & Record<string, unknown>>(
      'read_sip_farewells',
      `SELECT f.tenant_id AS "tenantId", f.username, f.left_at AS "leftAt", h.tenant_id IS NOT NULL AS "isBack"
       FROM (SELECT * FROM sip_farewells WHERE due_at <= now() ORDER BY due_at LIMIT $1) f LEFT JOIN hosted_sip h ON h.tenant_id = f.tenant_id`,
      [maxTeardownsPerPass],
    );
    for (let from = 0; from < due.length; from += asksAtOnce) {
      const outcomes = await Promise.allSettled(
        due.slice(from, from + asksAtOnce).map((teardown) => this.#say(teardown, server)),
      );
      const failed = outcomes.find((outcome) => outcome.status === 'rejected');
      if (failed !== undefined) throw failed.reason as Error;
    }
  }

  async #say(
    { tenantId, username, leftAt, isBack }: PendingTeardown,
    server: NonNullable<PendingTeardownsOptions['server']>,
  ) {
    if (!isBack) await server.forget(username);
    const calls = await server.callsOf(username, callsAtOnce);
    const old = calls.filter(({ startedAt }) => !isBack || startedAt <= leftAt);
    // One that nobody answered yet is ended as soon as somebody does.
    for (const { dialog } of old) if (dialog.toTag !== '') await server.end(dialog);
    await this.#options.db.systemStatement(
      'note_sip_farewell',
      `WITH over AS (DELETE FROM sip_farewells WHERE tenant_id = $1 AND left_at = $2 AND $3 AND left_at < now() - make_interval(secs => $4) RETURNING tenant_id)
       UPDATE sip_farewells SET due_at = now() + interval '1 second' WHERE tenant_id = $1 AND tenant_id NOT IN (SELECT tenant_id FROM over)`,
      [tenantId, leftAt, old.length === 0 && calls.length < callsAtOnce, leastSeconds],
    );
  }
}
