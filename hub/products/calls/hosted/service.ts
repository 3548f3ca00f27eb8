import type { HostedSip } from '../../../../shared/contract/calls/hosted-sip.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { afterCommit } from '../../../platform/db/joined-transaction.ts';
import { readEntitlements } from '../../../platform/db/tenancy.ts';
import { recordAudit } from '../../core/audit/index.ts';
import type { SipModes } from '../sip-mode/index.ts';
import { digestSecret, newPassword, personUsername, workspaceUsername } from './accounts.ts';
import { deleteHosted, readHosted, writeHosted } from './store.ts';
import type { HostedRow } from './store.ts';

export interface HostedSipDependencies {
  db: Database;
  modes: SipModes;
  /** Of the operator's SIP server; null where there is none. */
  domain: string | null;
  /** Told, after the commit, that a workspace opted in or out. */
  wake: (tenantId: string) => void;
}

/** Who asks: what is shown is theirs. */
interface Person {
  tenantId: string;
  userId: string;
  actor: string;
  /** Where they reached this hub. */
  baseUrl: string;
}

/** By which workspaces opt into the operator's SIP server, and out of it: with the commit the server knows. */
export class HostedSips {
  readonly #deps: HostedSipDependencies;

  constructor(dependencies: HostedSipDependencies) {
    this.#deps = dependencies;
  }

  async status(person: Omit<Person, 'actor'>): Promise<HostedSip> {
    return this.#deps.db.read(person.tenantId, (tx) => this.#show(tx, person));
  }

  /** Whether phones of a workspace are served. */
  async isOn(tenantId: string): Promise<boolean> {
    const { db, domain } = this.#deps;
    const row = await db.read(tenantId, (tx) => readHosted(tx, tenantId));
    return row !== undefined && reasonOf(row, domain) === null;
  }

  /** Makes credentials where the workspace has none that count at this server, and answers them this once. */
  async optIn(person: Person): Promise<HostedSip> {
    const { db, modes, domain, wake } = this.#deps;
    const { tenantId, actor } = person;
    const shown = await db.workspace(tenantId, async (tx) => {
      await modes.take(tx, tenantId, 'hosted', actor);
      const before = await readHosted(tx, tenantId);
      const isSame = before !== undefined && (before.domain === domain || domain === null);
      const username = workspaceUsername(tenantId);
      const password = isSame || domain === null ? null : newPassword();
      if (!isSame) {
        const ha1 = password === null || domain === null ? null : digestSecret(username, domain, password);
        await writeHosted(tx, tenantId, { username, domain, ha1 });
        await this.#record(tx, tenantId, actor, before === undefined ? 'hosted_sip.enabled' : 'hosted_sip.updated');
      }
      const status = await this.#show(tx, person);
      return password === null ? status : { ...status, credentials: { username, password } };
    });
    afterCommit(() => wake(tenantId));
    return shown;
  }

  async optOut(person: Person): Promise<HostedSip> {
    const { db, modes, wake } = this.#deps;
    const { tenantId, actor } = person;
    const shown = await db.workspace(tenantId, async (tx) => {
      await modes.release(tx, tenantId, 'hosted');
      await this.leave(tx, tenantId, actor);
      return this.#show(tx, person);
    });
    afterCommit(() => wake(tenantId));
    return shown;
  }

  /** Opts a workspace out, if it is in, in a transaction that holds its row of `sip_modes`. */
  async leave(tx: Transaction, tenantId: string, actor: string): Promise<void> {
    if (await deleteHosted(tx, tenantId)) await this.#record(tx, tenantId, actor, 'hosted_sip.disabled');
  }

  async #show(tx: Transaction, { tenantId, userId, baseUrl }: Omit<Person, 'actor'>): Promise<HostedSip> {
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
