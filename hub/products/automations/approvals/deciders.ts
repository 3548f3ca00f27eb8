import type { ApprovalDecider } from '../../../../shared/contract/automations/approvals.ts';
import type { Policy } from '../../../../shared/contract/automations/policies.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { and, eq } from '../../../platform/db/orm.ts';
import { apiTokens, users } from '../../core/identity/schema.ts';
import { testKeyNotAllowed } from '../test-keys/index.ts';
import { DecisionFacts, eligibleApprovers, emailsOf, idsOf } from './decision-facts.ts';
import type { DecidableRow } from './decision-facts.ts';
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
export async function readApprovers(
  tx: Transaction,
  row: DecidableRow,
  facts: DecisionFacts = new DecisionFacts(tx, row.tenantId, [row]),
): Promise<string[]> {
  const named = eligibleApprovers(row, await facts.now());
  // For `system.run`, only the policy names approvers.
  if (!row.usesDefaultApprovers && row.kind !== 'system.run') return named;
  const members = await facts.approversAmongMembers();
  return named.filter((email) => members.has(email));
}

/**
 * Asserts that a caller may decide an approval.
 * - With named approvers: only they may decide.
 * - Other steps: every caller with the permission, unless the policy requires a person.
 * - Without named approvers, for `system.run` and where the policy requires a person: a user, or a key with the
 * explicit permission `approvals:decide`. The account of `outrigger link` is excluded while an admin with a password
 * exists.
 * A caller in `countedOf` the run may decide none of these, except as the only member of the workspace. A key of
 * environment `test` may decide approvals of test runs only.
 * @param facts facts of several approvals, with this one among them.
 * @returns the name under which the vote counts.
 * @throws AppError `approver_required`, `approval_needs_person`, `test_key_not_allowed`.
 */
export async function assertMayDecide(
  tx: Transaction,
  row: DecidableRow,
  decider: Decider,
  facts: DecisionFacts = new DecisionFacts(tx, row.tenantId, [row]),
): Promise<string> {
  if (decider.kind === 'token' && decider.environment === 'test' && (await facts.liveRuns()).has(row.runId))
    throw testKeyNotAllowed('live runs');
  const policy = await facts.policy();
  const isNamed = row.approvers.length > 0;
  if (isNamed) {
    if (decider.kind === 'token' || !(await readApprovers(tx, row, facts)).includes(decider.email))
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
    if (decider.kind === 'user') await facts.assertIsMember(decider.userId);
  }
  const counted = await countedOf(row, facts);
  if (counted.has(decider)) {
    if (decider.kind === 'token')
      throw new AppError(
        'approval_needs_person',
        'This key started the run or wrote part of what it does. A signed-in user or another key with the approvals:decide permission must decide.',
      );
    const isExempt = decider.kind === 'user' && isStrict(row, policy) && (await facts.hasOnlyMember());
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
  const facts = new DecisionFacts(tx, row.tenantId, [row]);
  const userIds = idsOf([actor], 'user:');
  for (const userId of userIds) await facts.assertIsMember(userId);
  const [email = actor] = (await emailsOf(tx, row.tenantId, userIds)).get(actor) ?? [];
  const isCounted = (await countedOf(row, facts)).has({ kind: 'user', actor, userId: userIds[0] ?? '', email });
  if (isCounted && !(await facts.hasOnlyMember())) throw ownRun(row, await facts.policy());
  return email;
}

/**
 * Asserts that the user who created a link may still create links. The user is locked, so that a removal or a demotion
 * either waits for the transaction or prevents it.
 * @param creator the address that `assertMayMakeLinks` returned.
 * @throws AppError `role_required`; `approver_required` for the account of `outrigger link`.
 */
export async function assertCreatorIsAdmin(tx: Transaction, row: ApprovalRow, creator: string): Promise<void> {
  const [admin] = await tx
    .select({ id: users.id })
    .from(users)
    .where(and(eq(users.tenantId, row.tenantId), eq(users.email, creator), eq(users.role, 'admin')))
    .for('share');
  if (admin === undefined)
    throw new AppError(
      'role_required',
      'The user who created this link is no longer an admin of this workspace. Ask an admin for a new link.',
    );
  await new DecisionFacts(tx, row.tenantId, [row]).assertIsMember(admin.id);
}

/**
 * Whether the authors of the actions of a run are excluded as well as its starters. This applies to `system.run`, and
 * to steps where the policy requires it.
 */
const isStrict = ({ kind, approvers }: DecidableRow, { stepApprovalsNeedPerson }: Policy) =>
  kind === 'system.run' || (approvers.length === 0 && stepApprovalsNeedPerson);

function ownRun(row: DecidableRow, policy: Policy): AppError {
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
async function countedOf(row: DecidableRow, facts: DecisionFacts): Promise<Counted> {
  const { people, keyCreators, emails } = await facts.people();
  const { starters, authors } = people.get(row.runId) ?? { starters: [], authors: [] };
  const actors = new Set(isStrict(row, await facts.policy()) ? [...starters, ...authors] : starters);
  const creators = [...actors].flatMap((actor) => keyCreators.get(actor) ?? []);
  for (const creator of creators) actors.add(creator);
  const countedEmails = new Set([...actors].flatMap((actor) => emails.get(actor) ?? []));
  return {
    has: (decider) =>
      decider.kind === 'token'
        ? actors.has(decider.actor)
        : countedEmails.has(decider.email.toLowerCase()) || (decider.kind === 'user' && actors.has(decider.actor)),
  };
}
