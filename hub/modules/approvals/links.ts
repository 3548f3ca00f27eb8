import { createHash, randomBytes } from 'node:crypto';
import { and, eq, isNull, lt, sql } from 'drizzle-orm';
import { AppError } from '../../../shared/errors.ts';
import { visibleLine, visibleText } from '../../../shared/visible-text.ts';
import { approvalLinks, approvalVotes } from '../../platform/db/automation-schema.ts';
import type { Database, Transaction } from '../../platform/db/database.ts';
import { approvals } from '../../platform/db/schema.ts';
import { logRecovery } from '../../platform/log-repeats.ts';
import type { Logger } from '../../platform/logger.ts';
import { MailError } from '../../platform/mail/mail.ts';
import { withPlainHosts } from '../../platform/plain-hosts.ts';
import { recordAudit } from '../audit/index.ts';
import type { Email } from '../email/index.ts';
import { lockRuns } from '../runs/index.ts';
import type { PromisedJob } from '../runs/index.ts';
import { eligibleApprovers } from './service.ts';
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

const mailDeadlineMs = 30_000;
/** A mail that is on its way for so long was in the hands of a process that died, in seconds. */
const abandonedSeconds = 120;
/** A mail that could not be sent is tried again after so long, in seconds. */
const retrySeconds = 60;

const hashOf = (token: string) => createHash('sha256').update(token).digest();
const newToken = () => `apl_${randomBytes(32).toString('base64url')}`;

/** Links that let named people decide without signing in: each for one person and one approval, good for one decision. */
export class ApprovalLinks {
  readonly #deps: ApprovalLinksDependencies;
  readonly #failedAt = new Map<string, number>();

  constructor(dependencies: ApprovalLinksDependencies) {
    this.#deps = dependencies;
  }

  /**
   * Makes new links for everybody who may decide and has not; those made before stop working.
   * @throws AppError `not_found`, `approval_already_decided`, or `approver_required` when it names nobody.
   */
  create(tenantId: string, id: string, actor: string, baseUrl: string): Promise<{ links: { approver: string; url: string }[] }> {
    return this.#deps.db.workspace(tenantId, async (tx) => {
      const [row] = await tx.select().from(approvals).where(and(eq(approvals.tenantId, tenantId), eq(approvals.id, id))).for('update');
      if (row === undefined) throw new AppError('not_found', `There is no approval ${id} in this workspace.`);
      if (row.status !== 'pending') throw new AppError('approval_already_decided', `This approval is ${row.status}; there is nothing left to decide.`);
      const approvers = await this.#undecided(tx, row);
      if (eligibleApprovers(row, new Date()).length === 0) throw new AppError('approver_required', 'This approval names no approvers; give its step "approvers".');
      await tx.delete(approvalLinks).where(and(eq(approvalLinks.approvalId, id), isNull(approvalLinks.usedAt)));
      const links: { approver: string; url: string }[] = [];
      for (const approver of approvers) links.push({ approver, url: await insertLink(tx, row, approver, baseUrl) });
      await recordAudit(tx, { tenantId, actor, action: 'approval.links_created', targetType: 'approval', targetId: id, details: { approvers } });
      return { links };
    });
  }

  /** What a link is for; null when there is no such link. */
  async read(token: string): Promise<LinkedApproval | null> {
    return this.#deps.db.system(async (tx) => {
      const [row] = await tx.select({ link: approvalLinks, approval: approvals }).from(approvalLinks).innerJoin(approvals, eq(approvals.id, approvalLinks.approvalId)).where(eq(approvalLinks.tokenHash, hashOf(token)));
      if (row === undefined) return null;
      return { approver: row.link.approver, approval: row.approval, state: stateOf(row.approval, row.link.usedAt !== null) };
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
      const used = await tx.update(approvalLinks).set({ usedAt: sql`now()` }).where(and(eq(approvalLinks.tokenHash, hashOf(token)), isNull(approvalLinks.usedAt))).returning({ approver: approvalLinks.approver });
      if (used.length === 0) throw new AppError('approval_already_decided', 'This link was used already.');
      return (await this.#deps.approvals.decideWithin(tx, tenantId, id, { decision, ...(note === undefined ? {} : { note }) }, { kind: 'link', email: found.approver })).job;
    });
    if (job !== null) this.#deps.dispatch([job]);
    return (await this.read(token)) as LinkedApproval;
  }

  /** Mails a link to whoever may decide and has none yet; part of the sweep. Nothing without an SMTP server and a public address. */
  async mailNew(): Promise<void> {
    const { db, email, publicUrl, logger } = this.#deps;
    if (!email.isConfigured || publicUrl === null) return;
    // Their tokens went with the process that made them: nobody has such a link, so another takes its place.
    await db.system((tx) => tx.delete(approvalLinks).where(and(lt(approvalLinks.mailingUntil, sql`now()`), isNull(approvalLinks.usedAt))), { durable: false });
    const waiting = await db.system((tx) =>
      tx
        .select()
        .from(approvals)
        .where(
          and(
            eq(approvals.status, 'pending'),
            sql`cardinality(${approvals.approvers}) > 0`,
            sql`(select count(*) from approval_links l where l.approval_id = ${approvals.id}) < cardinality(${approvals.approvers}) + case when ${approvals.escalateAt} <= now() then cardinality(${approvals.escalateTo}) else 0 end`,
          ),
        )
        .orderBy(approvals.id)
        .limit(50),
    );
    for (const row of waiting) {
      for (const approver of await db.workspace(row.tenantId, (tx) => this.#undecided(tx, row))) {
        const key = `${row.id} ${approver}`;
        if (performance.now() - (this.#failedAt.get(key) ?? Number.NEGATIVE_INFINITY) < retrySeconds * 1000) continue;
        const url = await db.workspace(row.tenantId, async (tx) => {
          await tx.select({ id: approvals.id }).from(approvals).where(eq(approvals.id, row.id)).for('update');
          const [known] = await tx.select({ approver: approvalLinks.approver }).from(approvalLinks).where(and(eq(approvalLinks.approvalId, row.id), eq(approvalLinks.approver, approver)));
          return known === undefined ? insertLink(tx, row, approver, publicUrl, abandonedSeconds) : null;
        });
        if (url === null) continue;
        try {
          await email.notify({ to: approver, subject: `To approve: ${visibleLine(row.title)}`.slice(0, 200), text: `${visibleLine(withPlainHosts(row.title))}\n\n${visibleText(withPlainHosts(row.message))}\n\nLook at it and decide, once, here:\n${url}\n` }, AbortSignal.timeout(mailDeadlineMs));
          await this.#settleMail(row, approver);
          logRecovery(logger, 'mail');
        } catch (error) {
          if (error instanceof MailError && !error.retryable) {
            logger.warn({ err: error, approvalId: row.id }, 'an approval link can not be mailed; an admin can make another');
            await this.#settleMail(row, approver);
            continue;
          }
          this.#failedAt.set(key, performance.now());
          logger.warn({ err: error, part: 'mail', approvalId: row.id }, 'an approval link could not be mailed; it is tried again');
          await db.workspace(row.tenantId, (tx) => tx.delete(approvalLinks).where(and(eq(approvalLinks.approvalId, row.id), eq(approvalLinks.approver, approver))));
        }
      }
    }
    for (const [key, at] of this.#failedAt) if (performance.now() - at >= retrySeconds * 1000) this.#failedAt.delete(key);
  }

  async #settleMail(row: ApprovalRow, approver: string): Promise<void> {
    await this.#deps.db.workspace(row.tenantId, (tx) => tx.update(approvalLinks).set({ mailingUntil: null }).where(and(eq(approvalLinks.approvalId, row.id), eq(approvalLinks.approver, approver))));
  }

  async #undecided(tx: Transaction, row: ApprovalRow): Promise<string[]> {
    const votes = await tx.select({ approver: approvalVotes.approver }).from(approvalVotes).where(eq(approvalVotes.approvalId, row.id));
    const decided = new Set(votes.map((vote) => vote.approver));
    return eligibleApprovers(row, new Date()).filter((approver) => !decided.has(approver));
  }
}

function stateOf({ status, expiresAt }: ApprovalRow, isUsed: boolean): LinkedApproval['state'] {
  if (status === 'approved' || status === 'rejected') return status;
  if (status === 'expired' || (expiresAt !== null && expiresAt <= new Date())) return 'over';
  return isUsed ? 'voted' : 'open';
}

async function insertLink(tx: Transaction, row: ApprovalRow, approver: string, baseUrl: string, mailingSeconds?: number): Promise<string> {
  const token = newToken();
  await tx.insert(approvalLinks).values({ tokenHash: hashOf(token), approvalId: row.id, approver, tenantId: row.tenantId, mailingUntil: mailingSeconds === undefined ? null : sql`now() + make_interval(secs => ${mailingSeconds})` });
  return `${baseUrl}/approve/${token}`;
}
