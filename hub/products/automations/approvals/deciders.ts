import type { ApprovalDecider } from '../../../../shared/contract/automations/approvals.ts';
import type { Policy } from '../../../../shared/contract/automations/policies.ts';
import { AppError } from '../../../../shared/errors.ts';
import { isUuid } from '../../../../shared/uuid.ts';
import { readRunPeople } from '../../../engine/index.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { and, eq, inArray } from '../../../platform/db/orm.ts';
import { commandLines } from '../../../platform/process/command-lines.ts';
import { apiTokens } from '../../core/identity/schema.ts';
import { membersAmong, readPolicy } from '../policies/index.ts';
import { liveRunsAmong, testKeyNotAllowed } from '../test-keys/index.ts';
import type { ApprovalRow } from './store.ts';

/**
 * The caller that decides: an API key, a signed-in user, or a named approver with a mailed link. The approver counts as
 * the user with that address.
 */
export type Decider =
  | { kind: 'token'; actor: string; tokenId: string; environment: 'live' | 'test'; mayDecideExplicitly: boolean }
  | { kind: 'user'; actor: string; userId: string; email: string }
  | { kind: 'link'; email: string; createdBy: string | null };

export const actorOfDecider = (decider: Decider): string =>
  decider.kind === 'link' ? `email:${decider.email}` : decider.actor;

/** The addresses that may decide now: the named approvers and, after the escalation, the escalation addresses. */
export function eligibleApprovers(row: ApprovalRow, now: Date): string[] {
  return [...new Set([...row.approvers, ...(row.escalateAt !== null && row.escalateAt <= now ? row.escalateTo : [])])];
}

/** The name of a decider for readers. It is stored with the decision, because keys and users can be removed later. */
export async function describeDecider(tx: Transaction, tenantId: string, decider: Decider): Promise<ApprovalDecider> {
  if (decider.kind === 'link') {
    const creator = decider.createdBy === null ? {} : { linkCreatedBy: decider.createdBy };
    return { kind: 'mail_link', id: decider.email, name: decider.email, ...creator };
  }
  if (decider.kind === 'user') return { kind: 'user', id: decider.userId, name: decider.email };
  const [key] = await tx
    .select({ name: apiTokens.name })
    .from(apiTokens)
    .where(and(eq(apiTokens.tenantId, tenantId), eq(apiTokens.id, decider.tokenId)));
  return { kind: 'key', id: decider.tokenId, name: key?.name ?? decider.tokenId };
}

/** The approvers who may decide now. Default approvers of the policy must still be members of the workspace. */
export async function readApprovers(tx: Transaction, row: ApprovalRow): Promise<string[]> {
  const named = eligibleApprovers(row, new Date());
  // For `system.run`, only the policy names approvers.
  if (!row.usesDefaultApprovers && row.kind !== 'system.run') return named;
  const members = await membersAmong(tx, row.tenantId, named);
  return named.filter((email) => members.has(email));
}

/**
 * Asserts that a caller may decide an approval.
 * - With named approvers: only they may decide.
 * - Other steps: every caller with the permission, unless the policy requires a person.
 * - Without named approvers, for `system.run` and where the policy requires a person: a user, or a key with the
 * explicit permission `approvals:decide`. The account of `outrigger link` is excluded while an admin with a password
 * exists.
 * A caller in `readCounted` of the run may decide none of these, except as the only member of the workspace. A key of
 * environment `test` may decide approvals of test runs only.
 * @returns the name under which the vote counts.
 * @throws AppError `approver_required`, `approval_needs_person`, `test_key_not_allowed`.
 */
export async function assertMayDecide(tx: Transaction, row: ApprovalRow, decider: Decider): Promise<string> {
  if (decider.kind === 'token' && decider.environment === 'test') {
    const live = await liveRunsAmong(tx, row.tenantId, [row.runId]);
    if (live.size > 0) throw testKeyNotAllowed('live runs');
  }
  const policy = await readPolicy(tx, row.tenantId);
  const isNamed = row.approvers.length > 0;
  if (isNamed) {
    if (decider.kind === 'token' || !(await readApprovers(tx, row)).includes(decider.email))
      throw new AppError(
        'approver_required',
        'Only the approvers that this approval names may decide it, with their own link or signed in. Default approvers must be members of the workspace. An admin can change them in the policy.',
      );
  } else {
    if (!isStrict(row, policy)) return actorOfDecider(decider);
    if (decider.kind === 'token' && !decider.mayDecideExplicitly)
      throw new AppError(
        'approval_needs_person',
        'This key may not decide this approval. Sign in, or use a key with the explicit approvals:decide permission.',
      );
    if (decider.kind === 'user') await assertIsMember(tx, row.tenantId, decider.userId);
  }
  const counted = await readCounted(tx, row, policy);
  if (counted.has(decider)) {
    if (decider.kind === 'token')
      throw new AppError(
        'approval_needs_person',
        'This key started the run or wrote part of what it does. A signed-in user or another key with the approvals:decide permission must decide.',
      );
    const isExempt = decider.kind === 'user' && isStrict(row, policy) && (await isOnlyMember(tx, row.tenantId, policy));
    if (!isExempt) throw ownRun(row, policy);
  }
  return isNamed && decider.kind !== 'token' ? decider.email : actorOfDecider(decider);
}

/**
 * Asserts that a signed-in user may see the links of the approvers, with which any reader can decide in their names.
 * @returns the address of the user, which is stored with the decision.
 * @throws AppError `approver_required` for a user who counts for the run, except the only member of the workspace.
 */
export async function assertMayMakeLinks(tx: Transaction, row: ApprovalRow, actor: string): Promise<string> {
  const ids = idsOf([actor], 'user:');
  await assertIsMember(tx, row.tenantId, ...ids);
  const policy = await readPolicy(tx, row.tenantId);
  const counted = await readCounted(tx, row, policy);
  const [email = actor] = await emailsOf(tx, row.tenantId, ids);
  const isCounted = counted.has({ kind: 'user', actor, userId: ids[0] ?? '', email });
  if (isCounted && !(await isOnlyMember(tx, row.tenantId, policy))) throw ownRun(row, policy);
  return email;
}

/**
 * Whether the authors of the actions of a run are excluded as well as its starters. This applies to `system.run`, and
 * to steps where the policy requires it.
 */
const isStrict = ({ kind, approvers }: ApprovalRow, { stepApprovalsNeedPerson }: Policy) =>
  kind === 'system.run' || (approvers.length === 0 && stepApprovalsNeedPerson);

function ownRun(row: ApprovalRow, policy: Policy): AppError {
  return new AppError(
    'approver_required',
    isStrict(row, policy)
      ? 'You started this run or wrote part of what it does, so another person must decide. Starters are the users and keys of this run and of the runs that led to it. Authors are those who last changed the workflow, or the agent, tool profile, standing orders or models that the run used. The creator of a key counts with the key. If there is no other person, ask an admin to add a member.'
      : 'You started this run, or one that led to it, so another person must decide. The creator of a key counts with the key, and those who last changed or activated the workflow of a hook, schedule, event or channel count as starters.',
  );
}

interface Counted {
  has: (decider: Decider) => boolean;
}

/**
 * The users and keys that must not decide an approval: the starters of its run and the creators of their keys. Strict
 * mode adds the authors of its actions. A removed member is identified by the last address.
 */
async function readCounted(tx: Transaction, row: ApprovalRow, policy: Policy): Promise<Counted> {
  const { tenantId, runId } = row;
  const { starters, authors } = await readRunPeople(tx, tenantId, runId);
  const actors = new Set(isStrict(row, policy) ? [...starters, ...authors] : starters);
  const keyIds = idsOf([...actors], 'token:');
  if (keyIds.length > 0) {
    const keys = await tx
      .select({ createdBy: apiTokens.createdBy })
      .from(apiTokens)
      .where(and(eq(apiTokens.tenantId, tenantId), inArray(apiTokens.id, keyIds)));
    for (const { createdBy } of keys) if (createdBy !== null) actors.add(createdBy);
  }
  const emails = await emailsOf(tx, tenantId, idsOf([...actors], 'user:'));
  return {
    has: (decider) =>
      decider.kind === 'token'
        ? actors.has(decider.actor)
        : emails.has(decider.email.toLowerCase()) || (decider.kind === 'user' && actors.has(decider.actor)),
  };
}

/** The addresses of users, in lower case. For removed users, the last address. */
async function emailsOf(tx: Transaction, tenantId: string, userIds: readonly string[]): Promise<Set<string>> {
  if (userIds.length === 0) return new Set();
  const { rows } = await tx.query<{ email: string | null }>(
    'read_emails_of_users',
    `SELECT email FROM users WHERE tenant_id = $1 AND id = ANY($2::uuid[])
     UNION ALL SELECT details->>'email' FROM audit_log WHERE tenant_id = $1 AND target_id = ANY($2::text[]) AND action = 'member.removed'`,
    [tenantId, userIds],
  );
  return new Set(rows.flatMap(({ email }) => (email === null ? [] : [email.toLowerCase()])));
}

const idsOf = (actors: readonly string[], prefix: string) =>
  actors.flatMap((actor) =>
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
async function assertIsMember(tx: Transaction, tenantId: string, userId?: string): Promise<void> {
  const { rows } = await tx.query<{ email: string }>(
    'find_user_without_password',
    `SELECT email FROM users WHERE tenant_id = $1 AND id = $2 AND password_hash = ''`,
    [tenantId, userId ?? null],
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
