import { createHash, randomBytes } from 'node:crypto';
import { AppError, notFound } from '../../../../shared/errors.ts';
import { visibleLine, visibleText } from '../../../../shared/visible-text.ts';
import { lockRuns } from '../../../engine/index.ts';
import type { PromisedJob } from '../../../engine/index.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { and, eq, isNotNull, isNull, lt, lte, sql } from '../../../platform/db/orm.ts';
import { MailError } from '../../../platform/mail/mail.ts';
import { logRecovery } from '../../../platform/observability/log-throttle.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import { withPlainHosts } from '../../../platform/plain-hosts.ts';
import { recordAudit } from '../../core/audit/index.ts';
import type { Email } from '../email/index.ts';
import { assertMayMakeLinks, eligibleApprovers, readApprovers } from './deciders.ts';
import { approvalLinks, approvals, approvalVotes } from './schema.ts';
import type { Approvals } from './service.ts';
import type { ApprovalRow } from './store.ts';

export interface ApprovalLinksDependencies {
  db: Database;
  approvals: Approvals;
  email: Email;
  logger: Logger;
  dispatch: (jobs: PromisedJob[]) => void;
  /** Where people reach this hub; null when only the request itself tells. */
  publicUrl: string | null;
}

/** What a link shows before it decides. */
export interface LinkedApproval {
  approver: string;
  approval: ApprovalRow;
  /** `open` while the link can decide, `voted` once it did and others still have to, `over` when nobody can any more. */
  state: 'open' | 'voted' | 'approved' | 'rejected' | 'over';
}

/** What of an approval a mail needs. */
const mailedColumns = (({ id, tenantId, title, message }) => ({ id, tenantId, title, message }))(approvals);
type MailedApproval = Pick<ApprovalRow, keyof typeof mailedColumns>;

const mailDeadlineMs = 30_000;
/** A mail that is on its way for so long was in the hands of a process that died, in seconds. */
const abandonedSeconds = 120;
/** A mail that could not be sent is tried again after so long, in seconds. */
const retrySeconds = 60;
/** Approvals whose mails one pass sends. */
const maxApprovalsAtOnce = 50;

const after = (seconds: number) => sql`now() + make_interval(secs => ${seconds})`;

const hashOf = (token: string) => createHash('sha256').update(token).digest();
const newToken = () => `apl_${randomBytes(32).toString('base64url')}`;

/** Links that let named people decide without signing in: each for one person and one approval, good for one decision. */
export class ApprovalLinks {
  readonly #deps: ApprovalLinksDependencies;

  constructor(dependencies: ApprovalLinksDependencies) {
    this.#deps = dependencies;
  }

  /**
   * Makes new links for everybody who may decide and has not; those made before stop working.
   * @throws AppError `not_found`, `approval_already_decided`, or `approver_required` when it names nobody.
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
        throw new AppError(
          'approval_already_decided',
          `This approval is ${row.status}; there is nothing left to decide.`,
        );
      const approvers = await this.#undecided(tx, row);
      if (eligibleApprovers(row, new Date()).length === 0)
        throw new AppError('approver_required', 'This approval names no approvers; give its step "approvers".');
      await assertMayMakeLinks(tx, row, actor);
      await tx.delete(approvalLinks).where(and(eq(approvalLinks.approvalId, id), isNull(approvalLinks.usedAt)));
      const links: { approver: string; url: string }[] = [];
      for (const approver of approvers) links.push({ approver, url: await insertLink(tx, row, approver, baseUrl) });
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

  /** What a link is for; null when there is no such link. */
  async read(token: string): Promise<LinkedApproval | null> {
    return this.#deps.db.system(async (tx) => {
      const [row] = await tx
        .select({ link: approvalLinks, approval: approvals })
        .from(approvalLinks)
        .innerJoin(approvals, eq(approvals.id, approvalLinks.approvalId))
        .where(eq(approvalLinks.tokenHash, hashOf(token)));
      if (row === undefined) return null;
      return {
        approver: row.link.approver,
        approval: row.approval,
        state: stateOf(row.approval, row.link.usedAt !== null),
      };
    });
  }

  /** Decides by a link, which is used up by it. @throws AppError `not_found`, `approval_already_decided`, `approver_required`. */
  async decide(token: string, decision: 'approved' | 'rejected', note: string | undefined): Promise<LinkedApproval> {
    const found = await this.read(token);
    if (found === null) throw new AppError('not_found', 'There is no such link, or a newer one took its place.');
    const { tenantId, id, runId } = found.approval;
    const job = await this.#deps.db.workspace(tenantId, async (tx) => {
      // In the order in which everybody does: the run, its approval, the links to that.
      await lockRuns(tx, [runId]);
      await tx.select({ id: approvals.id }).from(approvals).where(eq(approvals.id, id)).for('update');
      const used = await tx
        .update(approvalLinks)
        .set({ usedAt: sql`now()` })
        .where(and(eq(approvalLinks.tokenHash, hashOf(token)), isNull(approvalLinks.usedAt)))
        .returning({ approver: approvalLinks.approver });
      if (used.length === 0) throw new AppError('approval_already_decided', 'This link was used already.');
      return (
        await this.#deps.approvals.decideWithin(
          tx,
          tenantId,
          id,
          { decision, ...(note === undefined ? {} : { note }) },
          { kind: 'link', email: found.approver },
        )
      ).job;
    });
    if (job !== null) this.#deps.dispatch([job]);
    const decided = (await this.read(token)) as LinkedApproval;
    await this.#deps.approvals.afterDecision(tenantId, decided.approval);
    return decided;
  }

  /** Mails a link to whoever may decide and has none yet; part of the sweep. Nothing without an SMTP server and a public address. */
  async mailNew(): Promise<void> {
    const { db, email, publicUrl } = this.#deps;
    if (!email.isConfigured || publicUrl === null) return;
    const due = await db.system(
      (tx) =>
        tx
          .select(mailedColumns)
          .from(approvals)
          .where(and(eq(approvals.status, 'pending'), lte(approvals.mailDueAt, sql`now()`)))
          .orderBy(approvals.mailDueAt)
          .limit(maxApprovalsAtOnce),
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
      const { approver, url } = next;
      try {
        await email.notify(
          {
            to: approver,
            subject: `To approve: ${visibleLine(row.title)}`.slice(0, 200),
            text: `${visibleLine(withPlainHosts(row.title))}\n\n${visibleText(withPlainHosts(row.message))}\n\nLook at it and decide, once, here:\n${url}\n`,
          },
          AbortSignal.timeout(mailDeadlineMs),
        );
        await this.#settleMail(row, approver);
        logRecovery(logger, 'mail');
      } catch (error) {
        if (error instanceof MailError && !error.retryable) {
          logger.warn(
            { err: error, approvalId: row.id },
            'an approval link can not be mailed; an admin can make another',
          );
          await this.#settleMail(row, approver);
          continue;
        }
        later.push(approver);
        logger.warn(
          { err: error, part: 'mail', approvalId: row.id },
          'an approval link could not be mailed; it is tried again',
        );
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
   * Makes the link of the next one to be mailed, or notes when to look again.
   * @param later whose mail failed just now, and is tried again after a while.
   */
  #beginMail(
    { id, tenantId }: MailedApproval,
    publicUrl: string,
    later: readonly string[],
  ): Promise<{ approver: string; url: string } | null> {
    return this.#deps.db.workspace(tenantId, async (tx) => {
      const [row] = await tx
        .select()
        .from(approvals)
        .where(and(eq(approvals.id, id), eq(approvals.status, 'pending')))
        .for('update');
      if (row === undefined) return null;
      const ofThis = eq(approvalLinks.approvalId, id);
      // Their tokens went with the process that made them: nobody has such a link, so another takes its place.
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
      const escalation = row.escalateAt !== null && row.escalateAt > new Date() ? row.escalateAt.toISOString() : null;
      await tx
        .update(approvals)
        .set({ mailDueAt: sql`least(${nextTry}, ${escalation}::timestamptz)` })
        .where(eq(approvals.id, id));
      return approver === undefined
        ? null
        : { approver, url: await insertLink(tx, row, approver, publicUrl, abandonedSeconds) };
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

function stateOf({ status, expiresAt }: ApprovalRow, isUsed: boolean): LinkedApproval['state'] {
  if (status === 'approved' || status === 'rejected') return status;
  if (status === 'expired' || (expiresAt !== null && expiresAt <= new Date())) return 'over';
  return isUsed ? 'voted' : 'open';
}

async function insertLink(
  tx: Transaction,
  row: ApprovalRow,
  approver: string,
  baseUrl: string,
  mailingSeconds?: number,
): Promise<string> {
  const token = newToken();
  await tx.insert(approvalLinks).values({
    tokenHash: hashOf(token),
    approvalId: row.id,
    approver,
    tenantId: row.tenantId,
    mailingUntil: mailingSeconds === undefined ? null : after(mailingSeconds),
  });
  return `${baseUrl}/approve/${token}`;
}
