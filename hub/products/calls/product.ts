import type { Carrier } from '../../../shared/contract/calls/records.ts';
import { systemClock, waitFor } from '../../platform/clock.ts';
import type { Transaction } from '../../platform/db/database.ts';
import type { RowRetention } from '../../platform/db/row-retention.ts';
import type { Platform } from '../../platform/open-platform.ts';
import type { Product } from '../../product.ts';
import type { WorkspaceEvents } from '../core/events/index.ts';
import type { Identity } from '../core/identity/index.ts';
import type { WorkspaceLimits } from '../core/limits/index.ts';
import { carrierReceiver } from './carrier/index.ts';
import { CarrierConnections, Connections } from './connections/index.ts';
import { connectionRoutes } from './connections/routes.ts';
import { importCsv, Reconciliation } from './history/index.ts';
import type { ImportOutcome, ReconcileOutcome } from './history/index.ts';
import { HostedSips } from './hosted/index.ts';
import { hostedSipRoutes } from './hosted/routes.ts';
import { phonePages } from './phone-page/pages.ts';
import { Calls, closeSilentCalls, foldCallDays } from './records/index.ts';
import { callRoutes } from './records/routes.ts';
import { callSkills } from './records/skills.ts';
import { SipModes, publishSipModeChange } from './sip-mode/index.ts';
import { SipServer } from './sip/index.ts';
import type { SipServerSettings } from './sip/index.ts';
import { PendingTeardowns, CallLeases, LostCalls, SipReports, SoftphoneSocketGateway } from './softphones/index.ts';
import type { DialQuota, SoftphoneRules } from './softphones/index.ts';
import { softphoneRoutes } from './softphones/routes.ts';
import { createOwnTrunk, wakeTrunks } from './trunk/index.ts';
import type { OwnTrunk, TrunkSettings } from './trunk/index.ts';

/** Calls of workspaces: records, carrier connections, SIP trunks and softphones. */
export interface CallsProduct extends Product {
  calls: Calls;
  /** @throws AppError `validation_failed`. */
  importCsv(tenantId: string, pieces: AsyncIterable<string>, provider: Carrier | null): Promise<ImportOutcome>;
  /** Compares stored calls with the carriers' own lists from `since` on, and adds missing data. */
  reconcile(tenantId: string, since: Date, signal: AbortSignal): Promise<ReconcileOutcome>;
  /** Keeps the SIP trunks of all workspaces registered until the returned object is disposed. */
  keepTrunks: OwnTrunk['keep'];
}

export interface CallsSettings extends TrunkSettings {
  retention: { calls: number };
  sip: TrunkSettings['sip'] & { server: SipServerSettings | null; dial: SoftphoneRules & DialQuota };
}

/** Time limits towards the SIP server, in milliseconds. */
export interface SipLimits {
  /** Of a request over JSON-RPC. */
  rpcTimeoutMs: number;
  /** For the end of the calls of a softphone. */
  endTimeoutMs: number;
}

export function createCalls(
  stack: AsyncDisposableStack,
  platform: Platform,
  settings: CallsSettings,
  {
    limits,
    events,
    identity,
    sipLimits,
  }: {
    limits: WorkspaceLimits;
    events: WorkspaceEvents;
    identity: Pick<Identity, 'sessions'>;
    /** Set by tests. */
    sipLimits?: SipLimits | undefined;
  },
): CallsProduct {
  const { db, cursors, egress, secrets, rateLimiter, logger } = platform;
  const calls = new Calls({ db, cursors, keptDays: settings.retention.calls });
  const carriers = new CarrierConnections({ db, secrets });
  const connections = new Connections({ db, cursors, egress, secrets, limits });
  const receive = carrierReceiver({ calls, connections: carriers, rateLimiter, logger, now: () => new Date() });
  const reconciliation = new Reconciliation({
    calls,
    connections: carriers,
    egress,
    logger,
    now: () => new Date(),
    pause: (ms, signal) => waitFor(systemClock, ms, signal),
  });
  const modes = new SipModes();
  const { dial } = settings.sip;
  const { rpcTimeoutMs, endTimeoutMs } = sipLimits ?? {};
  const server =
    settings.sip.server === null
      ? null
      : new SipServer({ ...settings.sip.server, ...(rpcTimeoutMs === undefined ? {} : { rpcTimeoutMs }) });
  const wake = (tx: Transaction, tenantId: string) => {
    wakeTrunks(tx);
    publishSipModeChange(tx, tenantId);
  };
  const trunk = createOwnTrunk(platform, settings, { calls, modes, wake });
  const hosted = new HostedSips({ db, modes, domain: server?.domain ?? null, wake });
  modes.define('hosted', (tx, tenantId, actor) => hosted.leave(tx, tenantId, actor));
  const callLeases = stack.use(new CallLeases({ db, logger, quota: dial, server }));
  const lost = new LostCalls({ db, server, sessions: (ids) => identity.sessions(ids) });
  const teardowns = new PendingTeardowns({ db, server });
  const reports = new SipReports({ db, calls, logger });
  const softphones = stack.use(
    new SoftphoneSocketGateway({
      db,
      events: platform.events,
      logger,
      rateLimiter,
      hosted,
      server,
      rules: dial,
      calls: callLeases,
      now: Date.now,
      endTimeoutMs,
    }),
  );
  return {
    calls,
    keepTrunks: trunk.keep,
    importCsv: (tenantId, pieces, provider) => importCsv(calls, tenantId, pieces, provider),
    reconcile: (tenantId, since, signal) => reconciliation.compareSince(tenantId, since, signal),
    routes: [
      ...callRoutes(calls, events, rateLimiter),
      ...connectionRoutes(connections, receive),
      ...trunk.routes,
      ...hostedSipRoutes(hosted),
    ],
    sockets: softphoneRoutes(softphones),
    pages: phonePages,
    skills: callSkills(calls),
    tasks: [
      { name: 'close silent calls', everyMs: 60_000, run: (stopping) => closeSilentCalls(db, stopping) },
      {
        name: 'compare carrier call lists',
        everyMs: 1_800_000,
        run: (stopping) => reconciliation.compareNightly(stopping),
      },
      { name: 'merge SIP server reports', everyMs: 1_000, run: (stopping) => reports.run(stopping) },
      { name: 'end softphone calls with expired leases', everyMs: 15_000, run: () => lost.sweep() },
      { name: 'end softphone calls of revoked sessions', everyMs: 1_000, run: (stopping) => lost.endRevoked(stopping) },
      { name: 'end calls of workspaces without hosted SIP', everyMs: 1_000, run: () => teardowns.run() },
      { name: 'fold daily call sums', everyMs: 10_000, run: (stopping) => foldCallDays(db, stopping) },
    ],
    retention: callsRetention(settings.retention.calls),
  };
}

/** Retention of daily sums in days. It exceeds `maxUsageDays`, the longest period of a usage report. */
const sumDays = 400;

export const callsRetention = (days: number): RowRetention => ({
  ofWorkspaces: ['calls', 'call_day_sums'],
  aged: [{ table: 'calls', days, condition: 'rank = 3' }],
  expiring: [{ table: 'call_day_sums', column: 'day', days: sumDays }],
});
