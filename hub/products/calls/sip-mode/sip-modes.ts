import type { Transaction } from '../../../platform/db/database.ts';
import type { Events } from '../../../platform/events/events.ts';

export type SipMode = 'own' | 'hosted';

/** Removes what a workspace has by a way that it leaves, in the transaction that leaves it. */
export type LeaveSipMode = (tx: Transaction, tenantId: string, actor: string) => Promise<void>;

/** Topic under which every process is told that a workspace may go another way. */
export const sipModeTopic = 'sip-mode';

/** Tells so, after the commit. */
export const tellSipMode = (events: Events, tenantId: string): void => void events.publish(sipModeTopic, { tenantId });

/** Lets a workspace have SIP in one way at a time. */
export class SipModes {
  readonly #leave = new Map<SipMode, LeaveSipMode>();

  /** Says how a way is left. */
  define(mode: SipMode, leave: LeaveSipMode): void {
    this.#leave.set(mode, leave);
  }

  /**
   * Has a workspace go one way from now on, and leave the other, if it went that. Its row is locked until the end of the transaction: whoever
   * asks for the other way meanwhile waits, and then finds what this one wrote. To be called before anything else of the change.
   */
  async take(tx: Transaction, tenantId: string, mode: SipMode, actor: string): Promise<void> {
    const { rows } = await tx.query<{ mode: SipMode }>(
      'lock_sip_mode',
      `INSERT INTO sip_modes (tenant_id, mode) VALUES ($1, $2) ON CONFLICT (tenant_id) DO UPDATE SET updated_at = now() RETURNING mode`,
      [tenantId, mode],
    );
    const before = rows[0]?.mode ?? mode;
    if (before === mode) return;
    await tx.query('set_sip_mode', 'UPDATE sip_modes SET mode = $2 WHERE tenant_id = $1', [tenantId, mode]);
    await this.#leave.get(before)?.(tx, tenantId, actor);
  }

  /** Has a workspace leave a way, so that it goes none; its row is locked as by `take`. */
  async release(tx: Transaction, tenantId: string, mode: SipMode): Promise<void> {
    await tx.query('release_sip_mode', 'DELETE FROM sip_modes WHERE tenant_id = $1 AND mode = $2', [tenantId, mode]);
  }
}
