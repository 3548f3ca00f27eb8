import type { Transaction } from '../../platform/db/database.ts';
import type { RunRow } from '../schema.ts';

/** Users and keys behind a run, as `user:<id>` and `token:<id>`. */
export interface RunPeople {
  /** The starters of the run, of the runs that led to it and of retries. For an automatic trigger also the authors of the version. */
  starters: string[];
  /** The authors of the version, of the runs that led to the run, and of the agents, tool profiles, standing orders and models that it has used. */
  authors: string[];
}

/** The caller that starts a run. In the test environment nothing leaves the hub. */
export interface RunCaller {
  actor: string;
  environment: 'live' | 'test';
}

/** Triggers without a caller of the API. The authors of the workflow count as starters of such runs. */
const automaticTriggers = ['webhook', 'schedule', 'heartbeat', 'event', 'channel'];

/** The actor as a starter, if the actor is a user or an API key. */
export const starterOf = (actor: string | null): string[] =>
  actor !== null && (actor.startsWith('user:') || actor.startsWith('token:')) ? [actor] : [];

/** The users and keys that led to a run, without the authors of its workflow. */
export function requestersOf({ requestedBy, trigger }: Pick<RunRow, 'requestedBy' | 'trigger'>): string[] {
  const { by } = trigger;
  return [...new Set([...requestedBy, ...(typeof by === 'string' ? starterOf(by) : [])])];
}

/** The users and keys behind a run of this workspace; none for a run that does not exist. */
export async function readRunPeople(tx: Transaction, tenantId: string, runId: string): Promise<RunPeople> {
  return (await readPeopleOfRuns(tx, tenantId, [runId])).get(runId) ?? { starters: [], authors: [] };
}

/** The users and keys behind runs of this workspace, by run id. */
export async function readPeopleOfRuns(
  tx: Transaction,
  tenantId: string,
  runIds: readonly string[],
): Promise<Map<string, RunPeople>> {
  const { rows } = await tx.query<
    Pick<RunRow, 'id' | 'trigger'> & { requested_by: string[]; authored_by: string[]; version_authors: string[] }
  >(
    'read_run_people',
    `SELECT r.id, r.requested_by, r.authored_by, r.trigger,
       array_remove(ARRAY[v.changed_by, v.defined_by, v.activated_by] || ARRAY(SELECT value FROM jsonb_each_text(v.authors)), NULL) AS version_authors
     FROM runs r LEFT JOIN workflow_versions v ON v.workflow_id = r.workflow_id AND v.version = r.workflow_version
     WHERE r.tenant_id = $1 AND r.id = ANY($2::uuid[])`,
    [tenantId, runIds],
  );
  return new Map(
    rows.map((row) => {
      const ofVersion = row.version_authors.flatMap(starterOf);
      const requesters = requestersOf({ requestedBy: row.requested_by, trigger: row.trigger });
      const isAutomatic = automaticTriggers.includes(row.trigger.type);
      return [
        row.id,
        {
          starters: [...new Set([...requesters, ...(isAutomatic ? ofVersion : [])])],
          authors: [...new Set([...ofVersion, ...row.authored_by])],
        },
      ];
    }),
  );
}

/**
 * Records the authors of an object that a run used, such as the prompt of an agent. Call it in the transaction that stores the result.
 * Later changes of the object by other authors do not remove these authors.
 */
export async function noteRunAuthors(tx: Transaction, runId: string, actors: readonly string[]): Promise<void> {
  const authors = [...new Set(actors.flatMap(starterOf))];
  if (authors.length === 0) return;
  await tx.query(
    'note_run_authors',
    `UPDATE runs SET authored_by = ARRAY(SELECT DISTINCT a FROM unnest(authored_by || $2::text[]) a)
     WHERE id = $1 AND NOT authored_by @> $2::text[]`,
    [runId, authors],
  );
}
