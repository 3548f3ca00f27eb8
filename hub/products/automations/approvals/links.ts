import { createHash, randomBytes } from 'node:crypto';
import { AppError, notFound } from '../../../../shared/errors.ts';
import { visibleLine, visibleText } from '../../../../shared/visible-text.ts';
import { lockRuns } from '../../../engine/index.ts';
import { runs } from '../../../engine/schema.ts';
import { withAsciiHosts } from '../../../platform/ascii-hosts.ts';
import { readNow } from '../../../platform/db/clock.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { and, eq, isNotNull, isNull, lt, lte, sql } from '../../../platform/db/orm.ts';
import { MailError } from '../../../platform/mail/mail.ts';
import { logRecovery } from '../../../platform/observability/log-throttle.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import { recordAudit } from '../../core/audit/index.ts';
import type { Email } from '../email/index.ts';
import { messageRecords } from '../logs/index.ts';
import { assertCreatorIsAdmin, assertMayMakeLinks, readApprovers } from './deciders.ts';
import { eligibleApprovers } from './decision-facts.ts';
import { approvalLinks, approvals, approvalVotes } from './schema.ts';
import type { Approvals } from './service.ts';
import type { ApprovalRow } from './store.ts';

export interface ApprovalLinksDependencies {
  db: Database;
  approvals: Approvals;
  email: Email;
  logger: Logger;
  /** Base URL under which users reach this hub; null when it must be derived from the request. */
  publicUrl: string | null;
}

/** The content of a link before the decision. */
export interface LinkedApproval {
  approver: string;
  approval: ApprovalRow;
  /**
   * `open` while the link can decide; `voted` after its vote while other votes are missing; `over` when no decision is
   * possible.
   */
  state: 'open' | 'voted' | 'approved' | 'rejected' | 'over';
}

/** An approval whose mails are due, with the origin of its run. */
type MailedApproval = Pick<ApprovalRow, 'id' | 'tenantId' | 'runId' | 'stepIndex' | 'title' | 'message'> &
  Pick<typeof runs.$inferSelect, 'workflowId' | 'environment'>;

const mailDeadlineMs = 30_000;
/** Time after which a mail in progress is considered abandoned by a dead process, in seconds. */
const abandonedSeconds = 120;
/** Delay before the retry of a mail, in seconds. */
const retrySeconds = 60;
/** Maximum approvals per pass for which mails are sent. */
const maxApprovalsPerPass = 50;

const after = (seconds: number) => sql`now() + make_interval(secs => ${seconds})`;

const hashOf = (token: string) => createHash('sha256').update(token).digest();
const newToken = () => `apl_${randomBytes(32).toString('base64url')}`;

/**
 * Links with which named people decide without signing in. Each link is for one person, one approval and one decision.
 */
export class ApprovalLinks {
  readonly #deps: ApprovalLinksDependencies;

  constructor(dependencies: ApprovalLinksDependencies) {
    this.#deps = dependencies;
  }

  /**
   * Creates new links for all approvers who have not voted. Earlier links stop working. @throws AppError `not_found`,
   * `approval_already_decided`, or `approver_required` when the approval names no approvers.
   */
  create(
    tenantId: string,
    id: string,
    actor: string,
    baseUrl: string,
  ): Promise<{ links: { approver: string; url: string }[] }> {
    return this.#deps.db.workspace(tenantId, async (tx) => {
      const [row] = await tx
        .select()
        .from(approvals)
        .where(and(eq(approvals.tenantId, tenantId), eq(approvals.id, id)))
        .for('update');
      if (row === undefined) throw notFound('approval', id);
      if (row.status !== 'pending')
        throw new AppError('approval_already_decided', `This approval is ${row.status} and can't be decided any more.`);
      const approvers = await this.#undecided(tx, row);
      if (eligibleApprovers(row, await readNow(tx)).length === 0)
        throw new AppError('approver_required', 'This approval names no approvers. Add "approvers" to its step.');
      const createdBy = await assertMayMakeLinks(tx, row, actor);
      await tx.delete(approvalLinks).where(and(eq(approvalLinks.approvalId, id), isNull(approvalLinks.usedAt)));
      const links: { approver: string; url: string }[] = [];
      for (const approver of approvers)
        links.push({ approver, url: await insertLink(tx, row, approver, baseUrl, { createdBy }) });
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'approval.links_created',
        targetType: 'approval',
        targetId: id,
        details: { approvers },
      });
      return { links };
    });
  }

  /**
   * The content of a link; null for an unknown token. @throws AppError `role_required`, `approver_required` when its
   * creator may no longer create links.
   */
  async read(token: string): Promise<LinkedApproval | null> {
    return this.#deps.db.system(async (tx) => {
      const found = await findLink(tx, token);
      if (found !== null && found.createdBy !== null) await assertCreatorIsAdmin(tx, found.approval, found.createdBy);
      return found;
    });
  }

  /**
   * Decides with a link and invalidates it. @throws AppError `not_found`, `approval_already_decided`,
   * `approver_required`, `role_required`.
   */
  async decide(token: string, decision: 'approved' | 'rejected', note: string | undefined): Promise<LinkedApproval> {
    const found = await this.#deps.db.system((tx) => findLink(tx, token));
    if (found === null) throw new AppError('not_found', 'This link is unknown, or a newer link replaced it.');
    const { tenantId, id, runId } = found.approval;
    await this.#deps.db.workspace(tenantId, async (tx) => {
      // All transactions lock in the same order: the run, its approval, its links.
      await lockRuns(tx, [runId]);
      await tx.select({ id: approvals.id }).from(approvals).where(eq(approvals.id, id)).for('update');
      const used = await tx
        .update(approvalLinks)
        .set({ usedAt: sql`now()` })
        .where(and(eq(approvalLinks.tokenHash, hashOf(token)), isNull(approvalLinks.usedAt)))
        .returning({ createdBy: approvalLinks.createdBy });
      const [link] = used;
      if (link === undefined) throw new AppError('approval_already_decided', 'This link has already been used.');
      if (link.createdBy !== null) await assertCreatorIsAdmin(tx, found.approval, link.createdBy);
      await this.#deps.approvals.decideWithin(
        tx,
        tenantId,
        id,
        { decision, ...(note === undefined ? {} : { note }) },
        { kind: 'link', email: found.approver, createdBy: link.createdBy },
      );
    });
    const decided = (await this.#deps.db.system((tx) => findLink(tx, token))) as LinkedApproval;
    await this.#deps.approvals.afterDecision(tenantId, decided.approval);
    return decided;
  }

  /**
   * Mails links to approvers who have none; part of the sweep. Mails of test runs are recorded and not sent. Does
   * nothing without an SMTP server and a public URL.
   */
  async mailNew(): Promise<void> {
    const { db, email, publicUrl } = this.#deps;
    if (!email.isConfigured || publicUrl === null) return;
    const due = await db.system(
      (tx) =>
        tx
          .select({
            id: approvals.id,
            tenantId: approvals.tenantId,
            runId: approvals.runId,
            stepIndex: approvals.stepIndex,
            title: approvals.title,
            message: approvals.message,
            workflowId: runs.workflowId,
            environment: runs.environment,
          })
          .from(approvals)
          .innerJoin(runs, eq(runs.id, approvals.runId))
          .where(and(eq(approvals.status, 'pending'), lte(approvals.mailDueAt, sql`now()`)))
          .orderBy(approvals.mailDueAt)
          .limit(maxApprovalsPerPass),
      { durable: false },
    );
    for (const row of due) await this.#mailLinks(row, publicUrl);
  }

  async #mailLinks(row: MailedApproval, publicUrl: string): Promise<void> {
    const { email, logger } = this.#deps;
    const later: string[] = [];
    for (
      let next = await this.#beginMail(row, publicUrl, later);
      next !== null;
      next = await this.#beginMail(row, publicUrl, later)
    ) {
      if (row.environment === 'test') continue;
      const { approver, url } = next;
      try {
        await email.notify(
          {
            to: approver,
            subject: subjectOf(row),
            text: `${visibleLine(withAsciiHosts(row.title))}\n\n${visibleText(withAsciiHosts(row.message))}\n\nReview the request and decide here (the link works once):\n${url}\n`,
          },
          AbortSignal.timeout(mailDeadlineMs),
        );
        await this.#settleMail(row, approver);
        logRecovery(logger, 'mail');
      } catch (error) {
        if (error instanceof MailError && !error.retryable) {
          logger.warn(
            { err: error, approvalId: row.id },
            'an approval link cannot be mailed; an admin can create another one',
          );
          await this.#settleMail(row, approver);
          continue;
        }
        later.push(approver);
        logger.warn({ err: error, part: 'mail', approvalId: row.id }, 'an approval link could not be mailed; retrying');
        await this.#deps.db.workspace(row.tenantId, (tx) =>
          tx
            .delete(approvalLinks)
            .where(
              and(
                eq(approvalLinks.approvalId, row.id),
                eq(approvalLinks.approver, approver),
                isNotNull(approvalLinks.mailingUntil),
              ),
            ),
        );
      }
    }
  }

  /**
   * Creates the link of the next mail, or stores when to check again. For a test run it also records the mail, and
   * nobody gets the link. @param later the address whose mail failed in this pass and is retried after a delay.
   */
  #beginMail(
    mailed: MailedApproval,
    publicUrl: string,
    later: readonly string[],
  ): Promise<{ approver: string; url: string } | null> {
    const { id, tenantId, runId, workflowId, stepIndex } = mailed;
    return this.#deps.db.workspace(tenantId, async (tx) => {
      const [row] = await tx
        .select()
        .from(approvals)
        .where(and(eq(approvals.id, id), eq(approvals.status, 'pending')))
        .for('update');
      if (row === undefined) return null;
      const ofThis = eq(approvalLinks.approvalId, id);
      // Tokens of unsent mails are lost with their process, so new links replace them.
      await tx
        .delete(approvalLinks)
        .where(and(ofThis, lt(approvalLinks.mailingUntil, sql`now()`), isNull(approvalLinks.usedAt)));
      const links = await tx.select().from(approvalLinks).where(ofThis);
      const have = new Set([...later, ...links.map((link) => link.approver)]);
      const approver = (await this.#undecided(tx, row)).find((candidate) => !have.has(candidate));
      const isUnderWay =
        approver !== undefined || links.some((link) => link.mailingUntil !== null && link.usedAt === null);
      const nextTry = isUnderWay
        ? after(abandonedSeconds)
        : later.length > 0
          ? after(retrySeconds)
          : sql`null::timestamptz`;
      await tx
        .update(approvals)
        .set({
          mailDueAt: sql`least(${nextTry}, CASE WHEN ${approvals.escalateAt} > now() THEN ${approvals.escalateAt} END)`,
        })
        .where(eq(approvals.id, id));
      if (approver === undefined) return null;
      const isTest = mailed.environment === 'test';
      const url = await insertLink(tx, row, approver, publicUrl, isTest ? {} : { mailingSeconds: abandonedSeconds });
      if (isTest)
        await messageRecords.insert(tx, [
          {
            tenantId,
            workflowId,
            runId,
            stepIndex,
            channel: 'email',
            recipient: approver,
            status: 'simulated',
            summary: { subject: subjectOf(mailed) },
          },
        ]);
      return { approver, url };
    });
  }

  async #settleMail(row: MailedApproval, approver: string): Promise<void> {
    await this.#deps.db.workspace(row.tenantId, (tx) =>
      tx
        .update(approvalLinks)
        .set({ mailingUntil: null })
        .where(and(eq(approvalLinks.approvalId, row.id), eq(approvalLinks.approver, approver))),
    );
  }

  async #undecided(tx: Transaction, row: ApprovalRow): Promise<string[]> {
    const votes = await tx
      .select({ approver: approvalVotes.approver })
      .from(approvalVotes)
      .where(eq(approvalVotes.approvalId, row.id));
    const decided = new Set(votes.map((vote) => vote.approver));
    return (await readApprovers(tx, row)).filter((approver) => !decided.has(approver));
  }
}

async function findLink(
  tx: Transaction,
  token: string,
): Promise<(LinkedApproval & { createdBy: string | null }) | null> {
  const [row] = await tx
    .select({
      link: approvalLinks,
      approval: approvals,
      isPast: sql<boolean>`coalesce(${approvals.expiresAt} <= now(), false)`,
    })
    .from(approvalLinks)
    .innerJoin(approvals, eq(approvals.id, approvalLinks.approvalId))
    .where(eq(approvalLinks.tokenHash, hashOf(token)));
  if (row === undefined) return null;
  const { link, approval, isPast } = row;
  const { approver, createdBy } = link;
  return { approver, createdBy, approval, state: stateOf(approval.status, { isPast, isUsed: link.usedAt !== null }) };
}

const subjectOf = ({ title }: Pick<ApprovalRow, 'title'>) => `To approve: ${visibleLine(title)}`.slice(0, 200);

function stateOf(
  status: ApprovalRow['status'],
  { isPast, isUsed }: { isPast: boolean; isUsed: boolean },
): LinkedApproval['state'] {
  if (status === 'approved' || status === 'rejected') return status;
  if (status === 'expired' || isPast) return 'over';
  return isUsed ? 'voted' : 'open';
}

async function insertLink(
  tx: Transaction,
  row: ApprovalRow,
  approver: string,
  baseUrl: string,
  { createdBy, mailingSeconds }: { createdBy?: string; mailingSeconds?: number },
): Promise<string> {
  const token = newToken();
  await tx.insert(approvalLinks).values({
    tokenHash: hashOf(token),
    approvalId: row.id,
    approver,
    tenantId: row.tenantId,
    createdBy: createdBy ?? null,
    mailingUntil: mailingSeconds === undefined ? null : after(mailingSeconds),
  });
  return `${baseUrl}/approve/${token}`;
}
