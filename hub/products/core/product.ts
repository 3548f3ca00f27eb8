import { maxUnrenewedDays } from '../../../shared/contract/core/push.ts';
import { usageEventDays } from '../../../shared/contract/core/usage-events.ts';
import type { Entitlement } from '../../../shared/contract/define.ts';
import type { RowRetention } from '../../platform/db/row-retention.ts';
import type { Platform } from '../../platform/open-platform.ts';
import type { Product } from '../../product.ts';
import { Audit } from './audit/index.ts';
import { auditRoutes } from './audit/routes.ts';
import { eventRetention, trimWorkspaceEvents, WorkspaceEvents } from './events/index.ts';
import { eventRoutes } from './events/routes.ts';
import { Identity } from './identity/index.ts';
import { invitationPages } from './identity/invitation-pages.ts';
import { Invitations } from './identity/invitations.ts';
import { OwnSessions } from './identity/own-sessions.ts';
import { signInPages } from './identity/pages.ts';
import { passwordPages } from './identity/password-pages.ts';
import { PasswordResets } from './identity/password-resets.ts';
import { PushSubscriptions } from './identity/push-subscriptions.ts';
import {
  identityRoutes,
  invitationRoutes,
  originRoutes,
  ownSessionRoutes,
  passwordResetRoutes,
  pushRoutes,
  savedFilterRoutes,
} from './identity/routes.ts';
import { SavedFilters } from './identity/saved-filters.ts';
import { signUpPages } from './identity/sign-up-pages.ts';
import { WorkspaceLimits } from './limits/index.ts';
import type { LimitedKind } from './limits/index.ts';
import { foldUsageDays, UsageEvents } from './usage-events/index.ts';
import { usageEventRoutes } from './usage-events/routes.ts';

export interface CoreSettings {
  identity: {
    signUp: 'closed' | 'open';
    sessionHours: number;
    allowedOrigins: readonly string[];
    defaultEntitlements: readonly Entitlement[];
  };
  http: { publicUrl: string | null };
  limits: { signIn: number };
  retention: { audit: number };
}

/** Workspaces, members, API keys, permissions, limits, events and the audit log. */
export interface Core extends Product {
  identity: Identity;
  limits: WorkspaceLimits;
  events: WorkspaceEvents;
}

/** @param maxPerWorkspace replaces declared limits in tests. */
export function createCore(
  { db, live, cursors, rateLimiter, secrets, egress, mailer, push, logger }: Platform,
  settings: CoreSettings,
  maxPerWorkspace?: Partial<Record<LimitedKind, number>>,
): Core {
  const identity = new Identity({
    db,
    rateLimiter,
    cursors,
    signInsPerWindow: settings.limits.signIn,
    sessionKey: secrets.subkey('sessions'),
    ...settings.identity,
  });
  const { publicUrl } = settings.http;
  const resets = new PasswordResets({ db, rateLimiter, logger, mailer, publicUrl });
  const limits = new WorkspaceLimits(maxPerWorkspace);
  const invitations = new Invitations({ db, cursors, limits, identity });
  const workspaceEvents = new WorkspaceEvents({ db, live });
  return {
    identity,
    events: workspaceEvents,
    limits,
    routes: [
      ...identityRoutes(identity),
      ...originRoutes(identity),
      ...passwordResetRoutes(resets),
      ...invitationRoutes(invitations),
      ...ownSessionRoutes(new OwnSessions({ db, cursors })),
      ...pushRoutes(new PushSubscriptions({ db, egress, push })),
      ...savedFilterRoutes(new SavedFilters(db)),
      ...auditRoutes(new Audit({ db, cursors })),
      ...usageEventRoutes(new UsageEvents({ db, cursors })),
      ...eventRoutes(workspaceEvents),
    ],
    tasks: [
      {
        name: 'trim workspace events',
        everyMs: 60_000,
        run: (stopping) => trimWorkspaceEvents(db, eventRetention, stopping),
      },
      { name: 'totals of usage', everyMs: 60_000, run: (stopping) => foldUsageDays(db, stopping) },
    ],
    pages: [
      ...signInPages(identity),
      ...signUpPages(identity),
      ...passwordPages(identity, resets),
      ...invitationPages(invitations),
    ],
    retention: coreRetention(settings.retention),
  };
}

export const coreRetention = (days: CoreSettings['retention']): RowRetention => ({
  aged: [{ table: 'audit_log', days: days.audit }],
  expiring: [
    { table: 'sessions' },
    { table: 'sign_in_codes' },
    { table: 'password_resets' },
    { table: 'invitations' },
    { table: 'sign_in_addresses', column: 'used_at', days: 180 },
    { table: 'usage_day_sums', column: 'day', days: usageEventDays },
    { table: 'push_subscriptions', column: 'renewed_at', days: maxUnrenewedDays },
  ],
});
