import type { z } from 'zod';
import type { OwnTrunk, registerTrunkBody } from '../../../../shared/contract/calls/own-trunk.ts';
import { AppError, invalidBody } from '../../../../shared/errors.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { EgressRefused } from '../../../platform/egress/egress.ts';
import type { Egress } from '../../../platform/egress/egress.ts';
import { newId } from '../../../platform/ids.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { recordAudit } from '../../core/audit/index.ts';
import type { SipModes } from '../sip-mode/index.ts';
import { forgetSucceeded, insertTrunk, markTrunkRemoved, readTrunk, restartTrunk } from './store.ts';
import type { TrunkRow } from './store.ts';

/** Purpose under which passwords are sealed. */
export const passwordPurpose = 'password of a SIP trunk';
export const sipPort = (transport: OwnTrunk['transport']): number => (transport === 'tls' ? 5061 : 5060);

const present = (row: TrunkRow): OwnTrunk => {
  // The process that registered the trunk may have crashed without storing a new state.
  const state = row.state === 'registered' && !row.is_held ? 'registering' : row.state;
  return {
    mode: 'own',
    state,
    host: row.host,
    port: row.port,
    username: row.username,
    transport: row.transport,
    registered: state === 'registered',
    lastCode: row.last_code,
    lastReason: row.last_reason,
    expiresAt: row.is_held ? (row.expires_at?.toISOString() ?? null) : null,
    nextAttemptAt: row.next_attempt_at?.toISOString() ?? null,
    checkedAt: row.checked_at?.toISOString() ?? null,
  };
};

export interface OwnTrunksDependencies {
  db: Database;
  egress: Egress;
  secrets: Secrets;
  modes: SipModes;
  /** Called in the transaction that changes the trunk of a workspace. */
  wake: (tx: Transaction, tenantId: string) => void;
}

/** Configuration of the SIP trunks. `TrunkKeeper` registers them at the carriers. */
export class OwnTrunks {
  readonly #deps: OwnTrunksDependencies;

  constructor(dependencies: OwnTrunksDependencies) {
    this.#deps = dependencies;
  }

  /** @throws AppError `validation_failed`. */
  async register(tenantId: string, body: z.output<typeof registerTrunkBody>, actor: string): Promise<OwnTrunk> {
    const { db, secrets, modes, wake } = this.#deps;
    const { username, transport, password } = body;
    const port = body.port ?? null;
    const host = this.#checkedHost(body.host, port ?? sipPort(transport));
    return db.workspace(tenantId, async (tx) => {
      wake(tx, tenantId);
      await modes.switchTo(tx, tenantId, 'own', actor);
      const before = await readTrunk(tx, tenantId);
      // Without TLS an eavesdropper could derive the password from the digest response.
      const losesTls = before?.transport === 'tls' && transport !== 'tls';
      if (password === undefined && (before?.host !== host || before.username !== username || losesTls))
        throw invalidBody(
          'password',
          before === undefined
            ? 'is needed for a new trunk'
            : 'is needed with another host or username, or without tls; the stored password is used only where it was set for',
        );
      const sealed = password === undefined ? (before?.sealed_password ?? '') : secrets.seal(passwordPurpose, password);
      const isSame =
        before?.host === host && before.username === username && before.port === port && before.transport === transport;
      if (!isSame && before !== undefined) await markTrunkRemoved(tx, tenantId);
      if (!isSame) await forgetSucceeded(tx, tenantId, { host, username });
      const id = isSame ? before.id : newId();
      const written = isSame
        ? await restartTrunk(tx, id, sealed)
        : await insertTrunk(tx, tenantId, { id, host, port, username, sealed_password: sealed, transport });
      if (written === undefined) throw new Error('the trunk was not written');
      await recordAudit(tx, {
        tenantId,
        actor,
        action: before === undefined ? 'sip_trunk.created' : 'sip_trunk.updated',
        targetType: 'sip_trunk',
        targetId: id,
        details: { host, port, username, transport, passwordChanged: password !== undefined },
      });
      return present(written);
    });
  }

  /** Null without a trunk. */
  async status(tenantId: string): Promise<OwnTrunk | null> {
    const row = await this.#deps.db.read(tenantId, (tx) => readTrunk(tx, tenantId));
    return row === undefined ? null : present(row);
  }

  /** @throws AppError `not_found`. */
  async remove(tenantId: string, actor: string): Promise<{ id: string; deleted: true }> {
    const { db, modes, wake } = this.#deps;
    const id = await db.workspace(tenantId, async (tx) => {
      await modes.release(tx, tenantId, 'own');
      const left = await this.leave(tx, tenantId, actor);
      if (left !== undefined) wake(tx, tenantId);
      return left;
    });
    if (id === undefined) throw new AppError('not_found', 'This workspace has no SIP trunk of its own.');
    return { id, deleted: true };
  }

  /**
   * Removes the trunk of a workspace, if it has one, and returns its ID. The transaction must hold the lock on the row
   * in `sip_modes`.
   */
  async leave(tx: Transaction, tenantId: string, actor: string): Promise<string | undefined> {
    const id = await markTrunkRemoved(tx, tenantId);
    if (id === undefined) return undefined;
    await recordAudit(tx, {
      tenantId,
      actor,
      action: 'sip_trunk.deleted',
      targetType: 'sip_trunk',
      targetId: id,
      details: {},
    });
    return id;
  }

  #checkedHost(host: string, port: number): string {
    try {
      return this.#deps.egress.checkHost(host, port);
    } catch (error) {
      if (error instanceof EgressRefused)
        throw invalidBody('host', `can't be reached from here: ${error.message.replace(/\.$/, '')}`);
      throw error;
    }
  }
}
