import { hash as hashPassword } from '@node-rs/argon2';
import type { z } from 'zod';
import { picturePath } from '../../../../shared/contract/common.ts';
import { identity as resource } from '../../../../shared/contract/core/identity.ts';
import type { Preferences } from '../../../../shared/contract/core/identity.ts';
import type { Role } from '../../../../shared/contract/define.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import { readPage } from '../../../platform/cursor.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { and, eq, sql } from '../../../platform/db/orm.ts';
import { publishAccessChange } from '../../../platform/http/auth/principal.ts';
import { recordAudit } from '../audit/index.ts';
import { endPushSubscriptionsOfUser } from './push-subscriptions.ts';
import {
  invitations,
  memberPictures,
  passwordResets,
  sessions,
  signInAddresses,
  signInCodes,
  users,
} from './schema.ts';
import { assertStillAdmin, findMember, insertUser, listMembers, listTokensOf } from './store.ts';
import { presentToken } from './tokens.ts';
import type { Tokens } from './tokens.ts';
import { mapUniqueViolations } from './unique-violations.ts';

type ListQuery = z.output<typeof resource.listMembers.query>;

const defaultPreferences: Preferences = { language: null, enterSends: false };

/** Members of workspaces. */
export class Members {
  readonly #deps: { db: Database; cursors: Cursors; tokens: Tokens };

  constructor(dependencies: { db: Database; cursors: Cursors; tokens: Tokens }) {
    this.#deps = dependencies;
  }

  /** @throws AppError `email_taken`; `unauthenticated` or `role_required` when the actor is no longer an admin. */
  async add(
    tenantId: string,
    { email, password, role }: { email: string; password: string; role: Role },
    actor: string,
  ) {
    const passwordHash = await hashPassword(password);
    return mapUniqueViolations(() =>
      this.#deps.db.workspace(tenantId, async (tx) => {
        // The role may have changed while the password was hashed.
        await assertStillAdmin(tx, actor);
        const user = await insertUser(tx, { tenantId, email, passwordHash, role });
        await recordAudit(tx, {
          tenantId,
          actor,
          action: 'member.added',
          targetType: 'user',
          targetId: user.id,
          details: { email, role },
        });
        return { id: user.id, email, role, createdAt: user.createdAt.toISOString() };
      }),
    );
  }

  /**
   * The ID of the member with an email address. Without an address, the oldest admin, or else the oldest member. Null
   * if there is none.
   */
  async find(tenantId: string, email?: string): Promise<string | null> {
    const [found] = await this.#deps.db.read(tenantId, (tx) => findMember(tx, tenantId, email?.toLowerCase()));
    return found?.id ?? null;
  }

  /** The profile of a member. @throws AppError `not_found`. */
  profile(tenantId: string, userId: string) {
    return this.#deps.db.read(tenantId, (tx) => readProfile(tx, userId));
  }

  /** Changes the display name and the preferences of a member; what is not given stays. */
  updateProfile(
    tenantId: string,
    userId: string,
    { displayName, preferences }: { displayName?: string | null; preferences?: Partial<Preferences> },
  ) {
    return this.#deps.db.workspace(tenantId, async (tx) => {
      await tx
        .update(users)
        .set({
          ...(displayName === undefined ? {} : { displayName }),
          ...(preferences === undefined
            ? {}
            : { preferences: sql`${users.preferences} || ${JSON.stringify(preferences)}::jsonb` }),
        })
        .where(and(eq(users.tenantId, tenantId), eq(users.id, userId)));
      const user = await readProfile(tx, userId);
      if (displayName !== undefined)
        await recordAudit(tx, {
          tenantId,
          actor: `user:${userId}`,
          action: 'member.profile_updated',
          targetType: 'user',
          targetId: userId,
          details: { changed: ['displayName'] },
        });
      return { user };
    });
  }

  /**
   * Records that the operator of the hub acts as a member who did not sign in.
   * @param details the action of the operator.
   */
  async recordImpersonation(tenantId: string, userId: string, actor: string, details: JsonObject): Promise<void> {
    await this.#deps.db.workspace(tenantId, (tx) =>
      recordAudit(tx, {
        tenantId,
        actor,
        action: 'member.impersonated',
        targetType: 'user',
        targetId: userId,
        details,
      }),
    );
  }

  /** Lists the members of a workspace, newest first. Only admins see the time of the last sign-in. */
  list(tenantId: string, query: ListQuery, role: Role) {
    const read = (limit: number, before: string | undefined) =>
      this.#deps.db.read(tenantId, (tx) => listMembers(tx, tenantId, limit, before));
    return readPage(
      this.#deps.cursors,
      `members:${tenantId}`,
      query,
      read,
      ({ lastSignInAt, createdAt, pictureId, ...member }) => ({
        ...member,
        picture: pictureId === null ? null : picturePath(pictureId),
        createdAt: createdAt.toISOString(),
        ...(role === 'admin' ? { lastSignInAt: lastSignInAt?.toISOString() ?? null } : {}),
      }),
    );
  }

  /**
   * Removes a member and ends the sessions and sign-in links of the member.
   * API keys belong to the workspace and stay valid, but their creator may know the secrets. The result lists the
   * active keys that the member created, revoked on request.
   * @throws AppError `not_found`, `conflict` for the last admin; as `add` for the actor.
   */
  async remove(
    tenantId: string,
    selector: { email: string } | { id: string },
    actor: string,
    { revokeKeys = false } = {},
  ): Promise<{ id: string; deleted: true; keys: (ReturnType<typeof presentToken> & { revoked: boolean })[] }> {
    const { id, keys } = await this.#deps.db.workspace(tenantId, async (tx) => {
      publishAccessChange(tx, tenantId);
      const members = await lockMembers(tx, tenantId, actor);
      const member = members.find((user) =>
        'id' in selector ? user.id === selector.id.toLowerCase() : user.email === selector.email.toLowerCase(),
      );
      if (member === undefined) throw noMember('id' in selector ? `member ${selector.id}` : selector.email);
      if (member.role === 'admin' && members.filter(({ role }) => role === 'admin').length === 1)
        throw new AppError('conflict', `${member.email} is the last admin of this workspace; add another one first.`);
      await tx.delete(users).where(eq(users.id, member.id));
      const known = await listTokensOf(tx, tenantId, `user:${member.id}`);
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'member.removed',
        targetType: 'user',
        targetId: member.id,
        details: { email: member.email, role: member.role, keys: known.map((key) => key.id) },
      });
      if (revokeKeys) for (const key of known) await this.#deps.tokens.revokeWithin(tx, tenantId, key.id, actor);
      return { id: member.id, keys: known };
    });
    return { id, deleted: true, keys: keys.map((key) => ({ ...presentToken(key), revoked: revokeKeys })) };
  }

  /** @throws AppError `not_found`, `conflict` for the last admin; as `add` for the actor. */
  async setRole(tenantId: string, userId: string, role: Role, actor: string) {
    const member = await this.#deps.db.workspace(tenantId, async (tx) => {
      publishAccessChange(tx, tenantId);
      const members = await lockMembers(tx, tenantId, actor);
      const found = members.find(({ id }) => id === userId.toLowerCase());
      if (found === undefined) throw noMember(`member ${userId}`);
      if (found.role === role) return found;
      if (found.role === 'admin' && members.filter((each) => each.role === 'admin').length === 1)
        throw new AppError('conflict', `${found.email} is the last admin of this workspace; add another one first.`);
      await tx.update(users).set({ role }).where(eq(users.id, found.id));
      if (role !== 'admin') await tx.delete(invitations).where(eq(invitations.invitedBy, found.id));
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'member.role_changed',
        targetType: 'user',
        targetId: found.id,
        details: { email: found.email, from: found.role, to: role },
      });
      return found;
    });
    return { id: member.id, email: member.email, role, createdAt: member.createdAt.toISOString() };
  }

  /**
   * Sets a new password and ends the sessions, sign-in links and notifications of the member. @throws AppError
   * `not_found`.
   */
  async setPassword(
    tenantId: string,
    { email, password }: { email: string; password: string },
    actor: string,
  ): Promise<{ id: string; email: string }> {
    const passwordHash = await hashPassword(password);
    return this.#deps.db.workspace(tenantId, async (tx) => {
      publishAccessChange(tx, tenantId);
      const [user] = await tx
        .update(users)
        .set({ passwordHash })
        .where(and(eq(users.tenantId, tenantId), eq(users.email, email.toLowerCase())))
        .returning({ id: users.id, email: users.email });
      if (user === undefined) throw noMember(email);
      await tx.delete(sessions).where(eq(sessions.userId, user.id));
      await tx.delete(signInCodes).where(eq(signInCodes.userId, user.id));
      await tx.delete(passwordResets).where(eq(passwordResets.userId, user.id));
      await tx.delete(signInAddresses).where(eq(signInAddresses.userId, user.id));
      await endPushSubscriptionsOfUser(tx, user.id);
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'member.password_set',
        targetType: 'user',
        targetId: user.id,
        details: { email: user.email },
      });
      return user;
    });
  }
}

/**
 * Locks all members of a workspace, so that concurrent changes cannot remove or demote the last two admins, and an actor
 * who was removed or demoted while the request waited changes nothing.
 */
async function lockMembers(tx: Transaction, tenantId: string, actor: string) {
  const members = await tx.select().from(users).where(eq(users.tenantId, tenantId)).orderBy(users.id).for('update');
  await assertStillAdmin(tx, actor);
  return members;
}

function noMember(name: string): AppError {
  return new AppError('not_found', `There is no ${name.slice(0, 254)} in this workspace.`);
}

async function readProfile(tx: Transaction, userId: string) {
  const [found] = await tx
    .select({
      id: users.id,
      email: users.email,
      role: users.role,
      displayName: users.displayName,
      preferences: users.preferences,
      pictureId: memberPictures.id,
      hasPassword: sql<boolean>`${users.passwordHash} <> ''`,
    })
    .from(users)
    .leftJoin(memberPictures, eq(memberPictures.userId, users.id))
    .where(eq(users.id, userId));
  if (found === undefined) throw noMember(`member ${userId}`);
  const { pictureId, preferences, ...user } = found;
  return {
    ...user,
    picture: pictureId === null ? null : picturePath(pictureId),
    preferences: { ...defaultPreferences, ...preferences },
  };
}
