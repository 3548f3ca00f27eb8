import { sipSockets } from '../../../../shared/contract/calls/sip-socket.ts';
import type { Database } from '../../../platform/db/database.ts';
import { admitSession } from '../../../platform/http/auth/auth.ts';
import type { SessionIdentity } from '../../../platform/http/auth/principal.ts';
import { closeLostCall } from '../records/index.ts';
import type { SipDialog, SipServer } from '../sip/index.ts';
import { asksAtOnce } from './call-leases.ts';
import { deleteCall, readCallsAfter, readLost, renewCalls, sweepCalls } from './call-store.ts';

export interface LostCallsOptions {
  db: Database;
  /** Null where the operator has none. */
  server: Pick<SipServer, 'end' | 'knows'> | null;
  /** The sessions among those that have not ended. */
  sessions: (ids: readonly string[]) => Promise<ReadonlyMap<string, SessionIdentity>>;
}

const pageLength = 2_000;
/** Of how many calls in a row, `asksAtOnce` at a time, none may succeed before the server counts as away. */
const mostSilentTurns = 3;

/** Looks after calls in the database, for whoever does not: in one process of a hub. */
export class LostCalls {
  readonly #options: LostCallsOptions;

  constructor(options: LostCallsOptions) {
    this.#options = options;
  }

  /** Ends at the SIP server all calls whose person may not have them any more. @throws Error where the server does not answer; they are ended the next time. */
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
          throw new Error('the SIP server did not end a call that it knows');
        await deleteCall(db, id);
      });
      if (failures[0] !== undefined) failed ??= failures[0];
      after = page.at(-1)?.id ?? after;
      if (page.length < pageLength) break;
    }
    if (failed !== undefined) throw failed;
  }

  /** Takes over calls whose process is gone while the SIP server knows them, and counts and forgets the others. */
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

  /** Acts on each call, whatever becomes of the others. Answers what failed. */
  async #each<Call extends { dialog: SipDialog }>(calls: Call[], act: (call: Call) => Promise<void>): Promise<Error[]> {
    const failures: Error[] = [];
    let away = 0;
    for (let from = 0; from < calls.length; from += asksAtOnce) {
      const outcomes = await Promise.allSettled(calls.slice(from, from + asksAtOnce).map(act));
      for (const outcome of outcomes) if (outcome.status === 'rejected') failures.push(outcome.reason as Error);
      // Where none of them succeeds the server is away, and would take as long of the next ones.
      if (outcomes.every(({ status }) => status === 'rejected')) away += 1;
      if (away === mostSilentTurns) break;
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
