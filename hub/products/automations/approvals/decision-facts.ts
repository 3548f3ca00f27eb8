import type { Policy } from '../../../../shared/contract/automations/policies.ts';
import { AppError } from '../../../../shared/errors.ts';
import { isUuid } from '../../../../shared/uuid.ts';
import { readPeopleOfRuns } from '../../../engine/index.ts';
import type { RunPeople } from '../../../engine/index.ts';
import { readNow } from '../../../platform/db/clock.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { and, eq, inArray } from '../../../platform/db/orm.ts';
import { commandLines } from '../../../platform/process/command-lines.ts';
import { apiTokens } from '../../core/identity/schema.ts';
import { membersAmong, readPolicy } from '../policies/index.ts';
import { liveRunsAmong } from '../test-keys/index.ts';
import type { ApprovalRow } from './store.ts';

/** What decides who may decide an approval. */
export type DecidableRow = Pick<
  ApprovalRow,
  'tenantId' | 'runId' | 'kind' | 'approvers' | 'usesDefaultApprovers' | 'escalateAt' | 'escalateTo'
>;

/** The addresses that may decide now: the named approvers and, after the escalation, the escalation addresses. */
export function eligibleApprovers(row: DecidableRow, now: Date): string[] {
  return [...new Set([...row.approvers, ...(row.escalateAt !== null && row.escalateAt <= now ? row.escalateTo : [])])];
}

/** The people behind runs, their keys and addresses. */
interface PeopleOfRuns {
  people: Map<string, RunPeople>;
  /** The actor that created each key, by the actor of the key. */
  keyCreators: Map<string, string>;
  /** Addresses in lower case, by actor. For removed users, the last address. */
  emails: Map<string, string[]>;
}

/** Facts about who may decide approvals of one workspace. Each is read once for all of them, when it is first needed. */
export class DecisionFacts {
  /** The time of the database. */
  readonly now: () => Promise<Date>;
  readonly policy: () => Promise<Policy>;
  /** Which of the runs are live. */
  readonly liveRuns: () => Promise<ReadonlySet<string>>;
  /** The named approvers who are members. */
  readonly approversAmongMembers: () => Promise<ReadonlySet<string>>;
  readonly people: () => Promise<PeopleOfRuns>;
  /** Whether the workspace has a single member and its policy lets this member decide. */
  readonly hasOnlyMember: () => Promise<boolean>;
  readonly #tx: Transaction;
  readonly #tenantId: string;
  readonly #members = new Map<string, Promise<void>>();

  constructor(tx: Transaction, tenantId: string, rows: readonly DecidableRow[]) {
    this.#tx = tx;
    this.#tenantId = tenantId;
    const runIds = [...new Set(rows.map(({ runId }) => runId))];
    this.now = once(() => readNow(tx));
    this.policy = once(() => readPolicy(tx, tenantId));
    this.liveRuns = once(() => liveRunsAmong(tx, tenantId, runIds));
    this.approversAmongMembers = once(async () => {
      const now = await this.now();
      return membersAmong(tx, tenantId, [...new Set(rows.flatMap((row) => eligibleApprovers(row, now)))]);
    });
    this.people = once(() => readPeople(tx, tenantId, runIds));
    this.hasOnlyMember = once(async () => isOnlyMember(tx, tenantId, await this.policy()));
  }

  /** @throws AppError `approver_required` for the account of `outrigger link` beside an admin with a password. */
  assertIsMember(userId: string): Promise<void> {
    const asserted = this.#members.get(userId) ?? assertIsMember(this.#tx, this.#tenantId, userId);
    this.#members.set(userId, asserted);
    return asserted;
  }
}

function once<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let value: Promise<Value> | undefined;
  return () => (value ??= read());
}

async function readPeople(tx: Transaction, tenantId: string, runIds: readonly string[]): Promise<PeopleOfRuns> {
  const people = await readPeopleOfRuns(tx, tenantId, runIds);
  const actors = [...people.values()].flatMap(({ starters, authors }) => [...starters, ...authors]);
  const keyIds = idsOf(actors, 'token:');
  const keyCreators = new Map<string, string>();
  if (keyIds.length > 0) {
    const keys = await tx
      .select({ id: apiTokens.id, createdBy: apiTokens.createdBy })
      .from(apiTokens)
      .where(and(eq(apiTokens.tenantId, tenantId), inArray(apiTokens.id, keyIds)));
    for (const { id, createdBy } of keys) if (createdBy !== null) keyCreators.set(`token:${id}`, createdBy);
  }
  const userIds = idsOf([...actors, ...keyCreators.values()], 'user:');
  return { people, keyCreators, emails: await emailsOf(tx, tenantId, userIds) };
}

/** The addresses of users by actor, in lower case. For removed users, the last address. */
export async function emailsOf(
  tx: Transaction,
  tenantId: string,
  userIds: readonly string[],
): Promise<Map<string, string[]>> {
  const emails = new Map<string, string[]>();
  if (userIds.length === 0) return emails;
  const { rows } = await tx.query<{ id: string; email: string | null }>(
    'read_emails_of_users',
    `SELECT id::text, email FROM users WHERE tenant_id = $1 AND id = ANY($2::uuid[])
     UNION ALL SELECT target_id, details->>'email' FROM audit_log WHERE tenant_id = $1 AND target_id = ANY($2::text[]) AND action = 'member.removed'`,
    [tenantId, userIds],
  );
  for (const { id, email } of rows)
    if (email !== null) emails.set(`user:${id}`, [...(emails.get(`user:${id}`) ?? []), email.toLowerCase()]);
  return emails;
}

/** The ids of the actors of one kind, each once. */
export const idsOf = (actors: readonly string[], prefix: string) =>
  [...new Set(actors)].flatMap((actor) =>
    actor.startsWith(prefix) && isUuid(actor.slice(prefix.length)) ? [actor.slice(prefix.length)] : [],
  );

/** Whether the workspace has a single member and its policy lets this member decide. */
async function isOnlyMember(
  tx: Transaction,
  tenantId: string,
  { soleMemberMayDecideOwnRuns }: Policy,
): Promise<boolean> {
  if (!soleMemberMayDecideOwnRuns) return false;
  const { rows } = await tx.query<{ count: number }>(
    'count_members',
    `SELECT count(*)::int AS count FROM (${membersWithLinkAccount}) m WHERE NOT is_link_account`,
    [tenantId],
  );
  return rows[0]?.count === 1;
}

/**
 * The members of a workspace. The hub creates an account without a password for `outrigger link` with each workspace.
 * It identifies no individual person: while an admin with a password exists, it is not a member and cannot decide.
 */
const membersWithLinkAccount = `SELECT password_hash = '' AND bool_or(role = 'admin' AND password_hash <> '') OVER () AS is_link_account
  FROM users WHERE tenant_id = $1`;

/** @throws AppError `approver_required` for the account of `outrigger link` beside an admin with a password. */
async function assertIsMember(tx: Transaction, tenantId: string, userId: string): Promise<void> {
  const { rows } = await tx.query<{ email: string }>(
    'find_user_without_password',
    `SELECT email FROM users WHERE tenant_id = $1 AND id = $2 AND password_hash = ''`,
    [tenantId, userId],
  );
  const [account] = rows;
  if (account === undefined) return;
  const admins = await tx.query(
    'find_admin_with_password',
    `SELECT FROM users WHERE tenant_id = $1 AND role = 'admin' AND password_hash <> '' LIMIT 1`,
    [tenantId],
  );
  if (admins.rowCount !== 0)
    throw new AppError(
      'approver_required',
      `The account ${account.email} of "outrigger link" can't decide this while an admin with a password exists. Sign in as a member. To remove the account: ${commandLines.hub} user remove --email ${account.email}`,
    );
}
