import type { ApprovalDecider } from '../../../../shared/contract/automations/approvals.ts';
import { AppError } from '../../../../shared/errors.ts';
import { isUuid } from '../../../../shared/uuid.ts';
import { readRunPeople } from '../../../engine/index.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { and, eq, inArray, sql } from '../../../platform/db/orm.ts';
import { apiTokens, users } from '../../core/identity/schema.ts';
import { readPolicy } from '../policies/index.ts';
import type { ApprovalRow } from './store.ts';

/** Who decides: an API key, a signed-in user, or a named approver by a mailed link, which counts as the user it was mailed to. */
export type Decider =
  | { kind: 'token'; actor: string; tokenId: string; mayDecideExplicitly: boolean }
  | { kind: 'user'; actor: string; userId: string; email: string }
  | { kind: 'link'; email: string };

export const actorOfDecider = (decider: Decider): string =>
  decider.kind === 'link' ? `email:${decider.email}` : decider.actor;

/** Who may decide now: the named approvers and, once it is escalated, those it is escalated to. */
export function eligibleApprovers(row: ApprovalRow, now: Date): string[] {
  return [...new Set([...row.approvers, ...(row.escalateAt !== null && row.escalateAt <= now ? row.escalateTo : [])])];
}

/** How a decision names its decider to readers; kept with the decision, because keys and users can be removed later. */
export async function describeDecider(tx: Transaction, tenantId: string, decider: Decider): Promise<ApprovalDecider> {
  if (decider.kind === 'link') return { kind: 'mail_link', id: decider.email, name: decider.email };
  if (decider.kind === 'user') return { kind: 'user', id: decider.userId, name: decider.email };
  const [key] = await tx
    .select({ name: apiTokens.name })
    .from(apiTokens)
    .where(and(eq(apiTokens.tenantId, tenantId), eq(apiTokens.id, decider.tokenId)));
  return { kind: 'key', id: decider.tokenId, name: key?.name ?? decider.tokenId };
}

/**
 * Checks that a caller may decide an approval; answers the name under which the vote counts.
 * - With named approvers: only they, and never a starter of the run.
 * - `system.run`, and every step approval where the policy demands a person: a user who is no starter of the run, or a key that carries
 *   `approvals:decide` itself and neither started the run nor wrote its workflow.
 * - Any other step approval: every caller with the permission.
 * @throws AppError `approver_required`, `approval_needs_person`.
 */
export async function assertMayDecide(tx: Transaction, row: ApprovalRow, decider: Decider): Promise<string> {
  const name = decider.kind === 'token' ? decider.actor : decider.email;
  if (row.approvers.length > 0) {
    if (decider.kind === 'token' || !eligibleApprovers(row, new Date()).includes(decider.email))
      throw new AppError(
        'approver_required',
        'Only the people whom this approval names may decide it: by their own link, or signed in.',
      );
    if ((await readStarters(tx, row)).has(decider)) throw ownRun();
    return name;
  }
  const policy = await readPolicy(tx, row.tenantId);
  if (row.kind !== 'system.run' && !policy.stepApprovalsNeedPerson) return actorOfDecider(decider);
  const starters = await readStarters(tx, row);
  if (decider.kind !== 'token') {
    const isExempt = async () =>
      decider.kind === 'user' && policy.soleMemberMayDecideOwnRuns && (await hasOneMember(tx, row.tenantId));
    if (starters.has(decider) && !(await isExempt())) throw ownRun();
    return actorOfDecider(decider);
  }
  if (!decider.mayDecideExplicitly)
    throw new AppError(
      'approval_needs_person',
      'This key may not decide this approval: a signed-in user does, or a key that carries approvals:decide itself.',
    );
  if (starters.has(decider) || starters.authors.includes(decider.actor))
    throw new AppError(
      'approval_needs_person',
      'This key started the run or wrote its workflow; a signed-in user decides, or another key that carries approvals:decide.',
    );
  return decider.actor;
}

/**
 * Checks that a signed-in user may see the links of an approval's approvers, by which anybody decides in their names.
 * @throws AppError `approver_required` for a starter of the run, unless nobody else could make the links.
 */
export async function assertMayMakeLinks(tx: Transaction, row: ApprovalRow, actor: string): Promise<void> {
  if (!(await readStarters(tx, row)).actors.has(actor)) return;
  const { soleMemberMayDecideOwnRuns } = await readPolicy(tx, row.tenantId);
  if (!soleMemberMayDecideOwnRuns || !(await hasOneMember(tx, row.tenantId))) throw ownRun();
}

function ownRun(): AppError {
  return new AppError(
    'approver_required',
    'You started this run yourself, or one that led to it; somebody else has to decide. Whoever made the key that started it counts as its starter, as does whoever last changed or activated the workflow of a hook, schedule, event or channel.',
  );
}

interface Starters {
  /** `user:<id>` and `token:<id>`. */
  actors: ReadonlySet<string>;
  authors: readonly string[];
  has: (decider: Decider) => boolean;
}

/** The starters of the run of an approval: users, keys, and the creators of these keys. */
async function readStarters(tx: Transaction, { tenantId, runId }: ApprovalRow): Promise<Starters> {
  const { starters, authors } = await readRunPeople(tx, tenantId, runId);
  const actors = new Set(starters);
  const keyIds = idsOf(starters, 'token:');
  if (keyIds.length > 0) {
    const keys = await tx
      .select({ createdBy: apiTokens.createdBy })
      .from(apiTokens)
      .where(and(eq(apiTokens.tenantId, tenantId), inArray(apiTokens.id, keyIds)));
    for (const { createdBy } of keys) if (createdBy !== null) actors.add(createdBy);
  }
  const userIds = idsOf([...actors], 'user:');
  const people =
    userIds.length === 0
      ? []
      : await tx
          .select({ email: users.email })
          .from(users)
          .where(and(eq(users.tenantId, tenantId), inArray(users.id, userIds)));
  const emails = new Set(people.map(({ email }) => email.toLowerCase()));
  return {
    actors,
    authors,
    has: (decider) =>
      decider.kind === 'token'
        ? actors.has(decider.actor)
        : emails.has(decider.email.toLowerCase()) || (decider.kind === 'user' && actors.has(decider.actor)),
  };
}

const idsOf = (actors: readonly string[], prefix: string) =>
  actors.flatMap((actor) =>
    actor.startsWith(prefix) && isUuid(actor.slice(prefix.length)) ? [actor.slice(prefix.length)] : [],
  );

/** Whether a workspace has one member only, besides whom nobody could decide. */
async function hasOneMember(tx: Transaction, tenantId: string): Promise<boolean> {
  const [row] = await tx
    .select({ count: sql<number>`count(*)::int` })
    .from(users)
    .where(eq(users.tenantId, tenantId));
  return row?.count === 1;
}
