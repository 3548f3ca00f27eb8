import type { CompanionState } from '../../shared/companion/state.ts';
import { visibleLine } from '../../shared/visible-text.ts';

/** The state of a running companion, shortened for the command line. */
export interface RunningStatus {
  pid: number;
  connected: boolean;
  byChannel: boolean;
  hub: string | null;
  nodeId: string | null;
  running: { id: string; type: string }[];
  lastError: string | null;
  /** Why the log cannot be trusted, and the number of entries that are not on the disk yet. */
  audit: CompanionState['audit'];
  /** How another program changed the settings file. */
  edited: CompanionState['edited'];
}

/** Shortens the state of a companion. */
export function statusOf(state: CompanionState): RunningStatus {
  const { pid, connection, paired, running, problem, audit, edited } = state;
  return {
    pid,
    connected: connection.isUp,
    byChannel: connection.by === 'channel',
    hub: paired?.hub ?? null,
    nodeId: paired?.nodeId ?? null,
    running: running.map(({ id, type }) => ({ id, type })),
    lastError: problem ?? connection.lastError,
    audit,
    edited,
  };
}

/** Describes the process and its connection for the owner. */
export function describeRunning({ pid, connected, byChannel, lastError }: RunningStatus): string {
  const connection = connected ? `connected by ${byChannel ? 'a channel' : 'polls'}` : 'not connected';
  return `process ${pid}, ${connection}${connected || lastError === null ? '' : `: ${visibleLine(lastError)}`}`;
}
