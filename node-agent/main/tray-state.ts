import type { CompanionState } from '../../shared/companion/state.ts';
import { visibleLine } from '../../shared/visible-text.ts';
import type { RuntimeState } from './runtime-keeper.ts';
import type { TrayState } from './tray.ts';

const hostOf = (address: string) => (URL.canParse(address) ? new URL(address).host : address);

/** The state of the companion for the tray, with a text of one line. */
export function describeForTray(runtime: RuntimeState, companion: CompanionState | null): TrayState {
  if (companion === null)
    return {
      mark: 'offline',
      line: runtime.state === 'restarting' ? 'Restarting' : 'Starting',
      isPaused: false,
    };
  const { settings, paired, connection, problem, running, prompts } = companion;
  const state = (mark: TrayState['mark'], line: string): TrayState => ({
    mark,
    line: visibleLine(line).slice(0, 120),
    isPaused: settings.paused,
  });
  if (settings.paused) return state('paused', 'Paused: nothing runs');
  if (problem !== null) return state('offline', 'Needs your attention');
  if (paired === null) return state('offline', 'Not paired');
  if (!connection.isUp) return state('offline', `Not connected to ${hostOf(paired.hub)}`);
  if (prompts.length > 0) {
    const subject = prompts.length === 1 ? 'A program is' : `${prompts.length} programs are`;
    return state('waiting', `${subject} waiting for your decision`);
  }
  if (running.length > 0)
    return state('connected', running.length === 1 ? '1 command is running' : `${running.length} commands are running`);
  return state('connected', `Connected to ${hostOf(paired.hub)}`);
}
