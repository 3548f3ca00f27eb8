import { createHash, randomBytes } from 'node:crypto';
import { hash as hashPassword, verify as verifyPassword } from '@node-rs/argon2';
import { jwtVerify, SignJWT } from 'jose';
import type { z } from 'zod';
import { identity as resource } from '../../../../shared/contract/core/identity.ts';
import type { Entitlement } from '../../../../shared/contract/define.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { eq, sql } from '../../../platform/db/orm.ts';
import { tenants } from '../../../platform/db/tenancy.ts';
import { publishAccessChange } from '../../../platform/http/auth/principal.ts';
import type { SessionIdentity } from '../../../platform/http/auth/principal.ts';
import { commandLines } from '../../../platform/process/command-lines.ts';
import type { RateLimiter } from '../../../platform/rate-limiter/rate-limiter.ts';
import { recordAudit } from '../audit/index.ts';
import { clientOf } from './client.ts';
import { Members } from './members.ts';
import { Origins } from './origins.ts';
import { noPassword, Passwords } from './passwords.ts';
import { endPushSubscriptionsOfSession } from './push-subscriptions.ts';
import { sessions } from './schema.ts';
import { SignInLimits } from './sign-in-limits.ts';
import {
  assertStillAdmin,
  findAdmin,
  findSession,
  findSessions,
  findTenant,
  findUserByEmail,
  hasTenants,
  insertCode,
  insertSession,
  insertTenant,
  insertUser,
  lockUser,
  redeemCode,
} from './store.ts';
import type { Entitlements, FoundSession, UserRow } from './store.ts';
import { Tokens } from './tokens.ts';
import { mapUniqueViolations } from './unique-violations.ts';

export interface IdentityDependencies {
  db: Database;
  cursors: Cursors;
  /** Key that signs session tokens (JWT). */
  sessionKey: Buffer;
  rateLimiter: RateLimiter;
  /** Sign-in attempts per account and address within 15 minutes. */
  signInsPerWindow: number;
  /** Whether anyone can create a workspace. */
  signUp: 'closed' | 'open';
  sessionHours: number;
  /** Origins whose pages may call the API of every workspace from a browser. */
  allowedOrigins: readonly string[];
  defaultEntitlements: readonly Entitlement[];
}

export type Session = z.input<typeof resource.logIn.response>;

/** Where a sign-in comes from. */
export interface SignInOrigin {
  address: string;
  /** The `User-Agent` header; undefined without one. */
  userAgent: string | undefined;
}

const issuer = 'outrigger';
const codeHours = 24;
const codeHash = (code: string) => createHash('sha256').update(code).digest();

/** Workspaces, their members and API keys, and sign-in. */
export class Identity {
  readonly tokens: Tokens;
  readonly members: Members;
  readonly origins: Origins;
  readonly passwords: Passwords;
  readonly #deps: IdentityDependencies;
  readonly #limits: SignInLimits;

  constructor(dependencies: IdentityDependencies) {
    this.#deps = dependencies;
    const { db, cursors, rateLimiter, signInsPerWindow: perWindow, sessionKey: key } = dependencies;
    this.tokens = new Tokens({ db, cursors });
    this.members = new Members({ db, cursors, tokens: this.tokens });
    this.origins = new Origins(db, dependencies.allowedOrigins);
    this.#limits = new SignInLimits({ db, rateLimiter, perWindow, key });
    this.passwords = new Passwords({ db, limits: this.#limits });
  }

  /** Whether `signUp` creates workspaces. */
  get isSignUpOpen(): boolean {
    return this.#deps.signUp === 'open';
  }

  /** @throws AppError `sign_up_closed`, `email_taken`, `workspace_name_taken`. */
  async signUp(
    { email, password, workspaceName }: { email: string; password: string; workspaceName: string },
    origin: SignInOrigin,
  ): Promise<Session> {
    if (!this.isSignUpOpen)
      throw new AppError('sign_up_closed', 'Sign-up is closed on this hub. Ask its operator for a workspace.');
    const passwordHash = await hashPassword(password);
    return mapUniqueViolations(() =>
      this.#deps.db.system(async (tx) => {
        const tenantId = await insertTenant(tx, workspaceName, this.#deps.defaultEntitlements);
        const user = await insertUser(tx, { tenantId, email, passwordHash, role: 'admin' });
        await recordAudit(tx, {
          tenantId,
          actor: `user:${user.id}`,
          action: 'workspace.created',
          targetType: 'workspace',
          targetId: tenantId,
          details: { name: workspaceName },
        });
        return this.startSession(tx, user, origin);
      }),
    );
  }

  /**
   * Signs in with a password. Links, sessions and known addresses keep working while the limit is exceeded.
   * @throws AppError `invalid_credentials`, in the same time for unknown accounts; `rate_limited` after too many
   * attempts in the window.
   */
  async logIn({ email, password }: { email: string; password: string }, origin: SignInOrigin): Promise<Session> {
    await this.#limits.assertMayTry(email, origin.address);
    const user = await this.#deps.db.system((tx) => findUserByEmail(tx, email));
    const correct = await verifyPassword(user?.passwordHash || noPassword, password).catch(() => false);
    if (user === null || !correct) throw wrongPassword();
    return this.#deps.db.workspace(user.tenantId, async (tx) => {
      // The password may have changed since it was verified. A later change waits for the lock and ends this session.
      const locked = await lockUser(tx, user.id);
      if (locked?.passwordHash !== user.passwordHash) throw wrongPassword();
      return this.startSession(tx, locked, origin);
    });
  }

  /** @throws AppError `invalid_credentials` for a code that is unknown, used or older than a day. */
  async redeemLink(code: string, origin: SignInOrigin): Promise<Session> {
    return this.#deps.db.system(async (tx) => {
      const user = await redeemCode(tx, codeHash(code));
      if (user === null)
        throw new AppError(
          'invalid_credentials',
          `This sign-in link is wrong, used or expired; create a new one with: ${commandLines.hub} link`,
        );
      return this.startSession(tx, user, origin);
    });
  }

  /**
   * Creates a one-time code that signs in the first admin of a workspace, valid for one day. Only the five newest codes
   * of a user are valid.
   * @throws AppError `not_found`.
   */
  async createSignInCode(workspaceName: string): Promise<string> {
    const code = randomBytes(24).toString('base64url');
    await this.#deps.db.system(async (tx) => {
      const tenant = (await findTenant(tx, workspaceName)) ?? (await this.#refuseUnknown(tx, workspaceName));
      const admin = await findAdmin(tx, tenant.id);
      if (admin === null)
        throw new AppError(
          'not_found',
          `The workspace "${tenant.name}" has no admin; add one with: ${commandLines.hub} user create --workspace "${tenant.name}" --role admin --email EMAIL`,
        );
      await insertCode(tx, admin, codeHash(code), codeHours);
    });
    return code;
  }

  async logOut({ tenantId, sessionId }: SessionIdentity): Promise<{ signedOut: true }> {
    await this.#deps.db.workspace(tenantId, async (tx) => {
      publishAccessChange(tx, tenantId);
      await tx
        .update(sessions)
        .set({ revokedAt: sql`now()` })
        .where(eq(sessions.id, sessionId));
      await endPushSubscriptionsOfSession(tx, sessionId);
    });
    return { signedOut: true };
  }

  /** Ends the session of a token if it has not ended. */
  async logOutByToken(token: string): Promise<void> {
    const session = await this.authenticateSession(token).catch((error: unknown) => {
      if (error instanceof AppError && error.code === 'unauthenticated') return null;
      throw error;
    });
    if (session !== null) await this.logOut(session);
  }

  async readEntitlements(tenantId: string): Promise<Entitlements> {
    const [row] = await this.#deps.db.read(tenantId, (tx) =>
      tx.select({ entitlements: tenants.entitlements }).from(tenants).where(eq(tenants.id, tenantId)),
    );
    if (row === undefined) throw new AppError('not_found', `There is no workspace ${tenantId}.`);
    return row.entitlements;
  }

  /** @throws AppError `not_found`. */
  async putEntitlements(tenantId: string, changes: Partial<Entitlements>): Promise<Entitlements> {
    return this.#deps.db.workspace(tenantId, async (tx) => {
      publishAccessChange(tx, tenantId);
      const [row] = await tx
        .update(tenants)
        .set({ entitlements: sql`${tenants.entitlements} || ${JSON.stringify(changes)}::jsonb` })
        .where(eq(tenants.id, tenantId))
        .returning({ entitlements: tenants.entitlements });
      if (row === undefined) throw new AppError('not_found', `There is no workspace ${tenantId}.`);
      await recordAudit(tx, {
        tenantId,
        actor: 'platform',
        action: 'entitlements.changed',
        targetType: 'workspace',
        targetId: tenantId,
        details: changes,
      });
      return row.entitlements;
    });
  }

  /** Renames a workspace. @throws AppError `workspace_name_taken`; as `Members.add` for the actor. */
  async rename(tenantId: string, name: string, actor: string): Promise<{ id: string; name: string }> {
    await mapUniqueViolations(
      () =>
        this.#deps.db.workspace(tenantId, async (tx) => {
          await assertStillAdmin(tx, actor);
          const [before] = await tx
            .select({ name: tenants.name })
            .from(tenants)
            .where(eq(tenants.id, tenantId))
            .for('update');
          if (before === undefined) throw new AppError('not_found', `There is no workspace ${tenantId}.`);
          if (before.name === name) return;
          await tx.update(tenants).set({ name }).where(eq(tenants.id, tenantId));
          await recordAudit(tx, {
            tenantId,
            actor,
            action: 'workspace.renamed',
            targetType: 'workspace',
            targetId: tenantId,
            details: { from: before.name, to: name },
          });
        }),
      'body.name',
    );
    return { id: tenantId, name };
  }

  /** @throws AppError `unauthenticated` if the token is invalid, expired or signed out. */
  async authenticateSession(token: string): Promise<SessionIdentity> {
    const sessionId = await this.#verify(token);
    const found = await findSession(this.#deps.db, sessionId);
    if (found === null) throw notSignedIn();
    return presentSession(sessionId, found);
  }

  /** Returns those of the sessions that have not ended. */
  async sessions(ids: readonly string[]): Promise<Map<string, SessionIdentity>> {
    const found = await findSessions(this.#deps.db, ids);
    return new Map(found.map((session) => [session.id, presentSession(session.id, session)]));
  }

  /** Creates the demo workspace on the first start. Returns whether it was created. */
  async ensureDemoWorkspace(name: string): Promise<boolean> {
    return this.#deps.db.system(async (tx) => {
      await tx.query('lock_demo_workspace', `SELECT pg_advisory_xact_lock(hashtext('outrigger demo workspace'))`, []);
      if (await hasTenants(tx)) return false;
      const tenantId = await insertTenant(tx, name, this.#deps.defaultEntitlements);
      // The account has no password. Its user signs in with a one-time link.
      await insertUser(tx, { tenantId, email: `admin@${name}.invalid`, passwordHash: '', role: 'admin' });
      return true;
    });
  }

  /** Creates a workspace without a password, for the command line. @throws AppError `workspace_name_taken`. */
  async createWorkspace(name: string): Promise<{ id: string; name: string }> {
    return mapUniqueViolations(() =>
      this.#deps.db.system(async (tx) => {
        const id = await insertTenant(tx, name, this.#deps.defaultEntitlements);
        await insertUser(tx, { tenantId: id, email: `admin@${id}.invalid`, passwordHash: '', role: 'admin' });
        await recordAudit(tx, {
          tenantId: id,
          actor: 'cli',
          action: 'workspace.created',
          targetType: 'workspace',
          targetId: id,
          details: { name },
        });
        return { id, name };
      }),
    );
  }

  /** @throws AppError `not_found` with instructions to create the workspace. */
  async findWorkspace(name: string): Promise<{ id: string; name: string }> {
    return this.#deps.db.system(async (tx) => (await findTenant(tx, name)) ?? this.#refuseUnknown(tx, name));
  }

  async #refuseUnknown(tx: Transaction, name: string): Promise<never> {
    const create = `${commandLines.hub} workspace create --name "${name}"`;
    if (await hasTenants(tx))
      throw new AppError('not_found', `There is no workspace "${name}"; create it with: ${create}`);
    throw new AppError(
      'not_found',
      `There is no workspace yet: the first start of the hub (${commandLines.start}) creates "demo" and prints a link to sign in to it. To create a workspace without starting the hub, run: ${create}`,
    );
  }

  /** Starts a session of a user whose row the transaction has locked or inserted. */
  async startSession(tx: Transaction, user: UserRow, { address, userAgent }: SignInOrigin): Promise<Session> {
    const client = clientOf(userAgent);
    const session = await insertSession(tx, user, { hours: this.#deps.sessionHours, client });
    await this.#limits.remember(tx, user, address);
    const token = await new SignJWT({ tenantId: user.tenantId, role: user.role })
      .setProtectedHeader({ alg: 'HS256' })
      .setIssuer(issuer)
      .setSubject(user.id)
      .setJti(session.id)
      .setIssuedAt()
      .setExpirationTime(Math.floor(session.expiresAt.getTime() / 1000))
      .sign(this.#deps.sessionKey);
    return {
      token,
      expiresAt: session.expiresAt.toISOString(),
      tenantId: user.tenantId,
      user: { id: user.id, email: user.email, role: user.role },
    };
  }

  async #verify(token: string): Promise<string> {
    try {
      const { payload } = await jwtVerify(token, this.#deps.sessionKey, { issuer, algorithms: ['HS256'] });
      if (typeof payload.jti === 'string') return payload.jti;
    } catch (error) {
      throw notSignedIn(error);
    }
    throw notSignedIn();
  }
}

const wrongPassword = () => new AppError('invalid_credentials', 'The email address or the password is wrong.');

function notSignedIn(cause?: unknown): AppError {
  return new AppError('unauthenticated', 'You are not signed in, or your session has ended; sign in again.', { cause });
}

const presentSession = (sessionId: string, found: FoundSession): SessionIdentity => ({
  sessionId,
  tenantId: found.tenant_id,
  workspaceName: found.workspace_name,
  user: { id: found.user_id, email: found.email, role: found.role, displayName: found.display_name },
  entitlements: found.entitlements,
  expiresAt: found.expires_at,
});
