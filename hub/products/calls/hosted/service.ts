import type { HostedSip } from '../../../../shared/contract/calls/hosted-sip.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { readEntitlements } from '../../../platform/db/tenancy.ts';
import { recordAudit } from '../../core/audit/index.ts';
import type { SipModes } from '../sip-mode/index.ts';
import { digestSecret, newPassword, personUsername, workspaceUsername } from './accounts.ts';
import { deleteHosted, readHosted, writeHosted } from './store.ts';
import type { HostedRow } from './store.ts';

export interface HostedSipDependencies {
  db: Database;
  modes: SipModes;
  /** Domain of the operator's SIP server. Null without a server. */
  domain: string | null;
  /** Called in the transaction in which a workspace opts in or out. */
  wake: (tx: Transaction, tenantId: string) => void;
}

/** The member who sends the request. The status shows the SIP user of this member. */
interface Member {
  tenantId: string;
  userId: string;
  actor: string;
  /** Base URL at which the member reached the hub. */
  baseUrl: string;
}

/** Opts workspaces into and out of the operator's SIP server. A change takes effect on the server with the commit. */
export class HostedSips {
  readonly #deps: HostedSipDependencies;

  constructor(dependencies: HostedSipDependencies) {
    this.#deps = dependencies;
  }

  async status(member: Omit<Member, 'actor'>): Promise<HostedSip> {
    return this.#deps.db.read(member.tenantId, (tx) => this.#present(tx, member));
  }

  /** Whether the SIP server serves the phones of a workspace. */
  async isOn(tenantId: string): Promise<boolean> {
    const { db, domain } = this.#deps;
    const row = await db.read(tenantId, (tx) => readHosted(tx, tenantId));
    return row !== undefined && reasonOf(row, domain) === null;
  }

  /** Opts in. Creates credentials if the workspace has none for this server, and returns them only once. */
  async optIn(member: Member): Promise<HostedSip> {
    const { db, modes, domain, wake } = this.#deps;
    const { tenantId, actor } = member;
    return db.workspace(tenantId, async (tx) => {
      wake(tx, tenantId);
      await modes.switchTo(tx, tenantId, 'hosted', actor);
      const before = await readHosted(tx, tenantId);
      const isSame = before !== undefined && (before.domain === domain || domain === null);
      const username = workspaceUsername(tenantId);
      const password = isSame || domain === null ? null : newPassword();
      if (!isSame) {
        const ha1 = password === null || domain === null ? null : digestSecret(username, domain, password);
        await writeHosted(tx, tenantId, { username, domain, ha1 });
        await this.#record(tx, tenantId, actor, before === undefined ? 'hosted_sip.enabled' : 'hosted_sip.updated');
      }
      const status = await this.#present(tx, member);
      return password === null ? status : { ...status, credentials: { username, password } };
    });
  }

  async optOut(member: Member): Promise<HostedSip> {
    const { db, modes, wake } = this.#deps;
    const { tenantId, actor } = member;
    return db.workspace(tenantId, async (tx) => {
      wake(tx, tenantId);
      await modes.release(tx, tenantId, 'hosted');
      await this.leave(tx, tenantId, actor);
      return this.#present(tx, member);
    });
  }

  /** Opts a workspace out if it is opted in. The transaction must hold the lock on the row in `sip_modes`. */
  async leave(tx: Transaction, tenantId: string, actor: string): Promise<void> {
    if (await deleteHosted(tx, tenantId)) await this.#record(tx, tenantId, actor, 'hosted_sip.disabled');
  }

  async #present(tx: Transaction, { tenantId, userId, baseUrl }: Omit<Member, 'actor'>): Promise<HostedSip> {
    const { domain } = this.#deps;
    const row = await readHosted(tx, tenantId);
    const { business_calling: entitled } = await readEntitlements(tx, tenantId);
    const reason = reasonOf(row, domain);
    return {
      enabled: row !== undefined,
      ready: reason === null,
      ...(reason === null ? {} : { reason }),
      entitled,
      domain,
      username: row === undefined || domain === null ? null : personUsername(tenantId, userId),
      wsUrl: domain === null ? null : `${baseUrl.replace(/^http/, 'ws')}/sip/ws`,
    };
  }

  #record(tx: Transaction, tenantId: string, actor: string, action: string): Promise<void> {
    const { domain } = this.#deps;
    return recordAudit(tx, {
      tenantId,
      actor,
      action,
      targetType: 'hosted_sip',
      targetId: tenantId,
      details: { domain },
    });
  }
}

function reasonOf(row: HostedRow | undefined, domain: string | null): HostedSip['reason'] | null {
  if (domain === null) return 'sip_server_not_configured';
  return row !== undefined && row.domain !== domain ? 'credentials_outdated' : null;
}
