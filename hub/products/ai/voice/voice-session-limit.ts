import { maxVoiceSocketsPerUser } from '../../../../shared/contract/ai/voice.ts';
import type { Database } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import { background } from '../../../platform/process/background.ts';

export interface VoiceSessionLimitOptions {
  db: Database;
  logger: Logger;
  /** Interval at which this process renews its leases. */
  renewMs?: number;
}

const defaultRenewMs = 5_000;
/** A lease that is not renewed for this time expires. */
const leaseSeconds = 15;

/** Limits the voice connections of a user over all processes of a hub. */
export class VoiceSessionLimit implements Disposable {
  readonly #options: VoiceSessionLimitOptions;
  /** Leases of this process, with the callback for a lost lease. */
  readonly #leases = new Map<string, () => void>();
  readonly #timer: NodeJS.Timeout;
  #isRenewing = false;

  constructor(options: VoiceSessionLimitOptions) {
    this.#options = options;
    this.#timer = setInterval(
      () => background(this.renew(), options.logger, 'renewal of the leases of voice connections'),
      options.renewMs ?? defaultRenewMs,
    );
    this.#timer.unref();
  }

  /**
   * Acquires a lease, which ends on disposal. Resolves to null if all slots of the user are in use.
   * @param onLost Called when the lease expired and another connection acquired the slot.
   */
  async acquire(tenantId: string, userId: string, onLost: () => void): Promise<AsyncDisposable | null> {
    const id = newId();
    // Concurrent calls may try the same slot. The later one tries the next slot.
    for (let attempts = 0; attempts < maxVoiceSocketsPerUser; attempts += 1) {
      const rows = await this.#options.db.systemStatement(
        'acquire_voice_session',
        `INSERT INTO voice_session_slots AS s (id, tenant_id, user_id, slot, expires_at)
         SELECT $1, $2, $3, p.slot, now() + make_interval(secs => $4) FROM generate_series(1, $5::int) AS p (slot)
         WHERE NOT EXISTS (SELECT FROM voice_session_slots t WHERE t.user_id = $3 AND t.slot = p.slot AND t.expires_at > now())
         ORDER BY p.slot LIMIT 1
         ON CONFLICT (user_id, slot) DO UPDATE SET id = excluded.id, expires_at = excluded.expires_at, created_at = now()
         WHERE s.expires_at <= now() RETURNING s.id`,
        [id, tenantId, userId, leaseSeconds, maxVoiceSocketsPerUser],
      );
      if (rows.length > 0) {
        this.#leases.set(id, onLost);
        return { [Symbol.asyncDispose]: () => this.#release(id) };
      }
    }
    return null;
  }

  /** Renews all leases of this process. */
  async renew(): Promise<void> {
    const ids = [...this.#leases.keys()];
    if (ids.length === 0 || this.#isRenewing) return;
    this.#isRenewing = true;
    try {
      const rows = await this.#options.db.systemStatement<{ id: string }>(
        'renew_voice_sessions',
        'UPDATE voice_session_slots SET expires_at = now() + make_interval(secs => $2) WHERE id = ANY($1::uuid[]) RETURNING id',
        [ids, leaseSeconds],
      );
      const kept = new Set(rows.map(({ id }) => id));
      for (const id of ids) if (!kept.has(id)) this.#dropLost(id);
    } catch (error) {
      this.#options.logger.debug(
        { err: error },
        'leases of voice connections could not be renewed; the next interval retries',
      );
    } finally {
      this.#isRenewing = false;
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #dropLost(id: string): void {
    const onLost = this.#leases.get(id);
    this.#leases.delete(id);
    onLost?.();
  }

  async #release(id: string): Promise<void> {
    this.#leases.delete(id);
    try {
      await this.#options.db.systemStatement('release_voice_session', 'DELETE FROM voice_session_slots WHERE id = $1', [
        id,
      ]);
    } catch (error) {
      this.#options.logger.debug({ err: error }, 'the lease of a voice connection could not be released; it expires');
    }
  }
}
