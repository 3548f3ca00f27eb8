import { createHash, createHmac } from 'node:crypto';
import { AppError } from '../../../../shared/errors.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { addressBlock } from '../../../platform/rate-limiter/address-block.ts';
import type { RateLimiter, RateLimitState } from '../../../platform/rate-limiter/rate-limiter.ts';

export interface SignInLimitsDependencies {
  db: Database;
  rateLimiter: RateLimiter;
  /** Sign-in attempts per account and address (or IPv6 /64) within 15 minutes. */
  perWindow: number;
  /** Key of the address hashes. */
  key: Buffer;
}

const windowSeconds = 900;
/** The limit per account over all addresses, as a multiple of the limit per address. */
const allAddressesFactor = 10;
/** Known addresses per user. */
const keptAddresses = 20;

/**
 * Limits sign-in attempts per account.
 * Each address has its own limit. Above the limit over all addresses, only addresses with an earlier sign-in of the
 * user may continue. A distributed attack therefore does not lock out the user.
 */
export class SignInLimits {
  readonly #deps: SignInLimitsDependencies;

  constructor(dependencies: SignInLimitsDependencies) {
    this.#deps = dependencies;
  }

  /** Counts an attempt, in the same way for unknown accounts. @throws AppError `rate_limited`. */
  async assertMayTry(email: string, address: string): Promise<void> {
    const { rateLimiter, perWindow } = this.#deps;
    const account = `account:${createHash('sha256').update(email).digest('base64url')}`;
    const here = await rateLimiter.take(`${account}:${addressBlock(address)}`, { limit: perWindow, windowSeconds });
    if (!here.allowed) throw tooMany(here);
    const everywhere = await rateLimiter.take(account, { limit: perWindow * allAddressesFactor, windowSeconds });
    if (!everywhere.allowed && !(await this.#isKnown(email, address))) throw tooMany(everywhere);
  }

  /** Stores the address of a successful sign-in in its transaction. */
  async remember(
    tx: Transaction,
    user: { id: string; tenantId: string; email: string },
    address: string,
  ): Promise<void> {
    const { rowCount } = await tx.query(
      'remember_address',
      `INSERT INTO sign_in_addresses AS a (user_id, address_hash, tenant_id) VALUES ($1, $2, $3)
       ON CONFLICT (user_id, address_hash) DO UPDATE SET used_at = now() WHERE a.used_at < now() - interval '1 day'`,
      [user.id, this.#hash(user.email, address), user.tenantId],
    );
    if (rowCount === 0) return;
    await tx.query(
      'forget_addresses',
      `DELETE FROM sign_in_addresses WHERE user_id = $1 AND address_hash = ANY(ARRAY(SELECT address_hash FROM sign_in_addresses WHERE user_id = $1 ORDER BY used_at DESC, address_hash OFFSET $2))`,
      [user.id, keptAddresses],
    );
  }

  async #isKnown(email: string, address: string): Promise<boolean> {
    const rows = await this.#deps.db.systemStatement(
      'known_address',
      'SELECT 1 FROM users u JOIN sign_in_addresses a ON a.user_id = u.id WHERE u.email = $1 AND a.address_hash = $2',
      [email, this.#hash(email, address)],
    );
    return rows.length > 0;
  }

  #hash(email: string, address: string): Buffer {
    return createHmac('sha256', this.#deps.key)
      .update(`sign-in address\n${email}\n${addressBlock(address)}`)
      .digest();
  }
}

function tooMany({ limit, resetAt }: RateLimitState): AppError {
  const retryAfterSeconds = Math.max(1, Math.ceil((resetAt.getTime() - Date.now()) / 1000));
  return new AppError(
    'rate_limited',
    `Too many sign-ins for this account; try again in ${retryAfterSeconds} seconds, or use a sign-in link.`,
    { retryAfterSeconds, limit },
  );
}
