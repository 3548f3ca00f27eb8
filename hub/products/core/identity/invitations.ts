import { createHash, randomBytes } from 'node:crypto';
import { hash as hashPassword } from '@node-rs/argon2';
import type { z } from 'zod';
import { invitations as resource } from '../../../../shared/contract/core/invitations.ts';
import type { Role } from '../../../../shared/contract/define.ts';
import { AppError } from '../../../../shared/errors.ts';
import { readPage } from '../../../platform/cursor.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database } from '../../../platform/db/database.ts';
import { and, desc, eq, gt, lt, sql } from '../../../platform/db/orm.ts';
import { tenants } from '../../../platform/db/tenancy.ts';
import { newId } from '../../../platform/ids.ts';
import { recordAudit } from '../audit/index.ts';
import type { WorkspaceLimits } from '../limits/index.ts';
import { invitations, users } from './schema.ts';
import type { Identity, Session, SignInOrigin } from './service.ts';
import { assertStillAdmin, findUserByEmail, insertUser, lockUser } from './store.ts';
import { emailTaken, mapUniqueViolations } from './unique-violations.ts';

export interface InvitationDependencies {
  db: Database;
  cursors: Cursors;
  limits: WorkspaceLimits;
  identity: Identity;
}

type ListQuery = z.output<typeof resource.listInvitations.query>;
type InvitationRow = typeof invitations.$inferSelect;

const validDays = 7;
const hashOf = (code: string) => createHash('sha256').update(code).digest();

/** Links with which people join a workspace. */
export class Invitations {
  readonly #deps: InvitationDependencies;

  constructor(dependencies: InvitationDependencies) {
    this.#deps = dependencies;
  }

  /**
   * Invites a person. An open invitation of the same address is replaced.
   * @param baseUrl URL of this hub, for the link.
   * @throws AppError `email_taken`, `workspace_limit_reached`; as `Members.add` for the actor.
   */
  async create(
    tenantId: string,
    { email, role }: { email: string; role: Role },
    { userId, baseUrl }: { userId: string; baseUrl: string },
  ) {
    const { db, limits } = this.#deps;
    // Members of other workspaces are visible to the system role only.
    if ((await db.system((tx) => findUserByEmail(tx, email))) !== null) throw emailTaken();
    const code = randomBytes(32).toString('base64url');
    const row = await db.workspace(tenantId, async (tx) => {
      await assertStillAdmin(tx, `user:${userId}`);
      const values = {
        id: newId(),
        role,
        codeHash: hashOf(code),
        invitedBy: userId,
        expiresAt: sql<Date>`now() + make_interval(days => ${validDays})`,
        createdAt: sql<Date>`now()`,
      };
      const [stored] = await tx
        .insert(invitations)
        .values({ ...values, tenantId, email })
        .onConflictDoUpdate({ target: [invitations.tenantId, invitations.email], set: values })
        .returning();
      await limits.assertWithin(tx, tenantId, 'invitation');
      await recordAudit(tx, {
        tenantId,
        actor: `user:${userId}`,
        action: 'member.invited',
        targetType: 'invitation',
        targetId: values.id,
        details: { email, role },
      });
      return stored as InvitationRow;
    });
    return { ...presentInvitation(row), url: new URL(`/join?code=${code}`, baseUrl).href };
  }

  /** Lists the open invitations of a workspace, newest first. */
  list(tenantId: string, query: ListQuery) {
    const read = (limit: number, before: string | undefined) =>
      this.#deps.db.read(tenantId, (tx) =>
        tx
          .select()
          .from(invitations)
          .where(
            and(
              eq(invitations.tenantId, tenantId),
              gt(invitations.expiresAt, sql`now()`),
              before === undefined ? undefined : lt(invitations.id, before),
            ),
          )
          .orderBy(desc(invitations.id))
          .limit(limit),
      );
    return readPage(this.#deps.cursors, `invitations:${tenantId}`, query, read, presentInvitation);
  }

  /** @throws AppError `not_found`; as `Members.add` for the actor. */
  async revoke(tenantId: string, id: string, actor: string): Promise<{ id: string; deleted: true }> {
    await this.#deps.db.workspace(tenantId, async (tx) => {
      await assertStillAdmin(tx, actor);
      const [revoked] = await tx
        .delete(invitations)
        .where(and(eq(invitations.tenantId, tenantId), eq(invitations.id, id)))
        .returning({ email: invitations.email });
      if (revoked === undefined)
        throw new AppError('not_found', `There is no open invitation ${id} in this workspace.`);
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'invitation.revoked',
        targetType: 'invitation',
        targetId: id,
        details: { email: revoked.email },
      });
    });
    return { id, deleted: true };
  }

  /** What the invited person sees before the acceptance. Null when the code is wrong, used or expired. */
  async show(code: string): Promise<{ email: string; role: Role; workspaceName: string } | null> {
    return this.#deps.db.system(async (tx) => {
      const [found] = await tx
        .select({ email: invitations.email, role: invitations.role, workspaceName: tenants.name })
        .from(invitations)
        .innerJoin(tenants, eq(tenants.id, invitations.tenantId))
        .innerJoin(users, and(eq(users.id, invitations.invitedBy), eq(users.role, 'admin')))
        .where(isValid(code));
      return found ?? null;
    });
  }

  /**
   * Creates the account of the invited person and signs it in.
   * @throws AppError `invalid_credentials`, `email_taken`.
   */
  async accept(
    { code, password, displayName = null }: { code: string; password: string; displayName?: string | null },
    origin: SignInOrigin,
  ): Promise<Session> {
    const { db, identity } = this.#deps;
    // Hashing is expensive, so check the code first.
    if ((await this.show(code)) === null) throw invalidLink();
    const passwordHash = await hashPassword(password);
    return mapUniqueViolations(() =>
      db.system(async (tx) => {
        const [found] = await tx.select({ invitedBy: invitations.invitedBy }).from(invitations).where(isValid(code));
        if (found === undefined) throw invalidLink();
        // The removal of a member locks the user before its invitations, so this order avoids a deadlock.
        const inviter = await lockUser(tx, found.invitedBy);
        if (inviter?.role !== 'admin') throw invalidLink();
        const [invitation] = await tx.delete(invitations).where(isValid(code)).returning();
        if (invitation === undefined) throw invalidLink();
        const { id, tenantId, email, role, invitedBy } = invitation;
        const user = await insertUser(tx, { tenantId, email, passwordHash, role, displayName });
        await recordAudit(tx, {
          tenantId,
          actor: `user:${user.id}`,
          action: 'member.joined',
          targetType: 'user',
          targetId: user.id,
          details: { email, role, invitedBy, invitationId: id },
        });
        return identity.startSession(tx, user, origin);
      }),
    );
  }
}

const isValid = (code: string) => and(eq(invitations.codeHash, hashOf(code)), gt(invitations.expiresAt, sql`now()`));

const presentInvitation = ({ id, email, role, invitedBy, expiresAt, createdAt }: InvitationRow) => ({
  id,
  email,
  role,
  invitedBy,
  expiresAt: expiresAt.toISOString(),
  createdAt: createdAt.toISOString(),
});

const invalidLink = () =>
  new AppError(
    'invalid_credentials',
    'This invitation is wrong, used, revoked or older than a week; ask an admin of the workspace for a new link.',
  );
