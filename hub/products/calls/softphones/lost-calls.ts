import { sipSockets } from '../../../../shared/contract/calls/sip-socket.ts';
import type { Database } from '../../../platform/db/database.ts';
import { admitSession } from '../../../platform/http/auth/auth.ts';
import type { SessionIdentity } from '../../../platform/http/auth/principal.ts';
import { closeLostCall } from '../records/index.ts';
import type { SipDialog, SipServer } from '../sip/index.ts';
import { serverConcurrency } from './call-leases.ts';
import { deleteCall, readCallsAfter, readLost, renewCalls, sweepCalls } from './call-store.ts';

export interface LostCallsOptions {
  db: Database;
  /** Null without a SIP server. */
  server: Pick<SipServer, 'end' | 'knows'> | null;
  /** Returns those of the sessions that have not ended. */
  sessions: (ids: readonly string[]) => Promise<ReadonlyMap<string, SessionIdentity>>;
}

const pageLength = 2_000;
/** After this number of batches in which every request failed, the server counts as unreachable. */
const maxFailedBatches = 3;

/** Ends and cleans up calls in the database that their own process no longer handles. Runs in one process of a hub. */
export class LostCalls {
  readonly #options: LostCallsOptions;

  constructor(options: LostCallsOptions) {
    this.#options = options;
  }

  /**
   * Ends all calls of sessions that may no longer call.
   * @throws Error if the server does not answer. The next run retries.
   */
  async endRevoked(stopping: AbortSignal): Promise<void> {
    const { db, server, sessions } = this.#options;
    if (server === null) return;
    let failed: Error | undefined;
    let after = '00000000-0000-0000-0000-000000000000';
    while (!stopping.aborted) {
      const page = await readCallsAfter(db, after, pageLength);
      if (page.length === 0) break;
      const open = await sessions([...new Set(page.map(({ sessionId }) => sessionId))]);
      const refused = page.filter(({ sessionId, isOff }) => isOff || !mayCall(open.get(sessionId)));
      const failures = await this.#each(refused, async ({ id, dialog }) => {
        if (!(await server.end(dialog)) && (await server.knows(dialog)))
          throw new Error('the SIP server did not end a call in progress');
        await deleteCall(db, id);
      });
      if (failures[0] !== undefined) failed ??= failures[0];
      after = page.at(-1)?.id ?? after;
      if (page.length < pageLength) break;
    }
    if (failed !== undefined) throw failed;
  }

  /** Renews calls with expired leases that the SIP server still knows. Charges and deletes the others. */
  async sweep(): Promise<void> {
    const { db, server } = this.#options;
    await sweepCalls(db);
    const lasting: string[] = [];
    const [failed] = await this.#each(await readLost(db), async ({ id, tenantId, dialog }) => {
      if (server !== null && (await server.knows(dialog))) {
        lasting.push(id);
        return;
      }
      await closeLostCall(db, tenantId, dialog.callId);
      await deleteCall(db, id);
    });
    await renewCalls(db, lasting);
    if (failed !== undefined) throw failed;
  }

  /** Calls `act` for each call, even if it fails for others. Returns the errors. */
  async #each<Call extends { dialog: SipDialog }>(calls: Call[], act: (call: Call) => Promise<void>): Promise<Error[]> {
    const failures: Error[] = [];
    let failedBatches = 0;
    for (let from = 0; from < calls.length; from += serverConcurrency) {
      const outcomes = await Promise.allSettled(calls.slice(from, from + serverConcurrency).map(act));
      for (const outcome of outcomes) if (outcome.status === 'rejected') failures.push(outcome.reason as Error);
      // If every request fails, the server is unreachable and further requests would only wait for their timeouts.
      if (outcomes.every(({ status }) => status === 'rejected')) failedBatches += 1;
      if (failedBatches === maxFailedBatches) break;
    }
    return failures;
  }
}

function mayCall(session: SessionIdentity | undefined): boolean {
  if (session === undefined) return false;
  try {
    admitSession(sipSockets.connectSoftphone, session);
    return true;
  } catch {
    return false;
  }
}
