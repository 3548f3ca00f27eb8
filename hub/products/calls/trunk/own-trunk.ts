import { systemClock } from '../../../platform/clock.ts';
import type { Route } from '../../../platform/http/routing/implement.ts';
import type { Platform } from '../../../platform/open-platform.ts';
import { ranks } from '../records/index.ts';
import type { Calls } from '../records/index.ts';
import type { SipModes } from '../sip-mode/index.ts';
import type { MissedCall } from './incoming.ts';
import { ownTrunkRoutes } from './routes.ts';
import { OwnTrunks } from './service.ts';
import type { OwnTrunksDependencies } from './service.ts';
import { TrunkKeeper } from './trunk-keeper.ts';

export interface TrunkSettings {
  sip: { trunkContact: { host: string; parameters: string } | null };
}

/** SIP trunks of workspaces: their routes, and the process that keeps them registered. */
export interface OwnTrunk {
  routes: Route[];
  /** @param onAttempt called with the state after each attempt to register. */
  keep(onAttempt: (outcome: string) => void): AsyncDisposable;
}

export function createOwnTrunk(
  { db, egress, secrets, events, logger }: Platform,
  settings: TrunkSettings,
  {
    calls,
    modes,
    wake,
  }: { calls: Pick<Calls, 'merge' | 'countSince'>; modes: SipModes; wake: OwnTrunksDependencies['wake'] },
): OwnTrunk {
  const trunks = new OwnTrunks({ db, egress, secrets, modes, wake });
  modes.define('own', async (tx, tenantId, actor) => {
    await trunks.leave(tx, tenantId, actor);
  });
  return {
    routes: ownTrunkRoutes(trunks),
    keep: (onAttempt) =>
      new TrunkKeeper({
        db,
        egress,
        secrets,
        events,
        logger,
        clock: systemClock,
        userAgent: 'Outrigger',
        contact: settings.sip.trunkContact,
        recordMissed: (call) => calls.merge(call.tenantId, toEvent(call)),
        countMissed: (tenantId, since, limit) => calls.countSince(tenantId, 'sip_trunk', since, limit),
        onAttempt,
      }),
  };
}

/** Converts a refused call to a call event. */
const toEvent = ({ callSid, fromId, toId, at }: MissedCall): Parameters<Calls['merge']>[1] => ({
  provider: 'sip_trunk',
  callSid,
  direction: 'inbound',
  fromId,
  toId,
  rank: ranks.ended,
  sequence: 0,
  at,
  outcome: 'not_taken',
  reason: null,
  sipCode: 480,
  hangupBy: 'callee',
  reportedSecs: null,
  startedAt: at,
  answeredAt: null,
  endedAt: at,
  machine: false,
  mosScore: null,
});
