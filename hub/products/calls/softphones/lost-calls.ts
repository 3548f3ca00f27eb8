import { sipSockets } from '../../../../shared/contract/calls/sip-socket.ts';
import type { Database } from '../../../platform/db/database.ts';
import { admitSession } from '../../../platform/http/auth.ts';
import type { SessionIdentity } from '../../../platform/http/principal.ts';
import type { SipDialog, SipServer } from '../../../platform/sip/sip-server.ts';
import { closeLostCall } from '../records/index.ts';
import { deleteCall, readCallsAfter, readLost, renewCalls, sweepCalls } from './call-store.ts';
import { asksAtOnce } from './held-calls.ts';

export interface LostCallsOptions {
  db: Database;
  /** Null where the operator has none. */
  server: Pick<SipServer, 'end' | 'knows'> | null;
  /** The sessions among those that have not ended. */
  sessions: (ids: readonly string[]) => Promise<ReadonlyMap<string, SessionIdentity>>;
}

const pageLength = 2_000;

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
    let after = '00000000-0000-0000-0000-000000000000';
    while (!stopping.aborted) {
      const page = await readCallsAfter(db, after, pageLength);
      if (page.length === 0) return;
      const open = await sessions([...new Set(page.map(({ sessionId }) => sessionId))]);
      const refused = page.filter(({ sessionId, isOff }) => isOff || !mayCall(open.get(sessionId)));
      await this.#each(refused, async ({ id, dialog }) => {
        await server.end(dialog);
        await deleteCall(db, id);
      });
      after = page.at(-1)?.id ?? after;
      if (page.length < pageLength) return;
    }
  }

  /** Takes over calls whose process is gone while the SIP server knows them, and counts and forgets the others. */
  async sweep(): Promise<void> {
    const { db, server } = this.#options;
    await sweepCalls(db);
    const lasting: string[] = [];
    await this.#each(await readLost(db), async ({ id, tenantId, dialog }) => {
      if (server !== null && (await server.knows(dialog))) {
        lasting.push(id);
        return;
      }
      await closeLostCall(db, tenantId, dialog.callId);
      await deleteCall(db, id);
    }).finally(() => renewCalls(db, lasting));
  }

  async #each<Call extends { dialog: SipDialog }>(calls: Call[], act: (call: Call) => Promise<void>): Promise<void> {
    for (let from = 0; from < calls.length; from += asksAtOnce) {
      const outcomes = await Promise.allSettled(calls.slice(from, from + asksAtOnce).map(act));
      for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason as Error;
    }
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
