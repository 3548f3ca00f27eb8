import type { Transaction } from '../../../platform/db/database.ts';
import type { Publisher } from '../../../platform/events/events.ts';

export type SipMode = 'own' | 'hosted';

/** Removes the configuration of the mode that a workspace leaves, in the transaction that changes the mode. */
export type LeaveSipMode = (tx: Transaction, tenantId: string, actor: string) => Promise<void>;

/** Topic on which every process learns that the SIP mode of a workspace may have changed. */
export const sipModeTopic = 'sip-mode';

/** Publishes a change of the SIP mode, on the commit of the transaction that changes it. */
export const publishSipModeChange = (tx: Publisher, tenantId: string): void => tx.publish(sipModeTopic, { tenantId });

/** Gives each workspace at most one SIP mode at a time. */
export class SipModes {
  readonly #leave = new Map<SipMode, LeaveSipMode>();

  /** Registers the function that removes the configuration of a mode. */
  define(mode: SipMode, leave: LeaveSipMode): void {
    this.#leave.set(mode, leave);
  }

  /**
   * Switches a workspace to a mode and removes the configuration of its previous mode.
   * Call it first in the transaction: it locks the row of the workspace until the transaction ends. A concurrent switch
   * waits and then reads the committed mode.
   */
  async switchTo(tx: Transaction, tenantId: string, mode: SipMode, actor: string): Promise<void> {
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

  /** Removes a mode from a workspace, which then has no SIP. It locks the row in the same way as `switchTo`. */
  async release(tx: Transaction, tenantId: string, mode: SipMode): Promise<void> {
    await tx.query('release_sip_mode', 'DELETE FROM sip_modes WHERE tenant_id = $1 AND mode = $2', [tenantId, mode]);
  }
}
