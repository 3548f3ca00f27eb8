import type { CompanionState } from '../../shared/companion/state.ts';
import { visibleLine } from '../../shared/visible-text.ts';
import { askCompanion } from './control/client.ts';
import type { DataFolder } from './data-folder.ts';

/** What a running companion says of itself, shortened for the command line. */
export interface RunningStatus {
  pid: number;
  connected: boolean;
  byChannel: boolean;
  hub: string | null;
  nodeId: string | null;
  running: { id: string; type: string }[];
  lastError: string | null;
  /** Why the log can not be trusted, and entries that the disk has not taken yet. */
  audit: CompanionState['audit'];
  /** How another program changed the settings file. */
  edited: CompanionState['edited'];
}

/** Asks the companion that runs on a data folder for its status; null when none does. */
export async function readRunningStatus(folder: DataFolder): Promise<RunningStatus | null> {
  const state = await askCompanion(folder, 'state', {});
  return state === null ? null : statusOf(state);
}

/** A state, shortened so. */
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

/** The process and its connection, as they are shown to the owner. */
export function describeRunning({ pid, connected, byChannel, lastError }: RunningStatus): string {
  const connection = connected ? `connected by ${byChannel ? 'a channel' : 'polls'}` : 'not connected';
  return `process ${pid}, ${connection}${connected || lastError === null ? '' : `: ${visibleLine(lastError)}`}`;
}
