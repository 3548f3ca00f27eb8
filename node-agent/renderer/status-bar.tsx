import { useAction, useData, useStore } from './companion-context.tsx';
import type { WindowData } from './companion-store.ts';
import { ActionError, Button, Line } from './controls.tsx';
import { PauseIcon, PlayIcon } from './icons.tsx';
import { hostOf } from './words.ts';

interface Status {
  tone: 'good' | 'bad' | 'warning' | 'plain';
  title: string;
  detail: string;
}

const runtimeWords = {
  starting: 'Starting',
  restarting: 'Starting again',
  stopped: 'Stopped',
  running: 'Waiting for the companion',
  attached: 'Waiting for the companion',
} as const;

function statusOf({ state, app, unreachable }: WindowData): Status {
  if (state === null || unreachable !== null)
    return {
      tone: unreachable === null || app?.runtime.state === 'starting' ? 'plain' : 'bad',
      title: runtimeWords[app?.runtime.state ?? 'starting'],
      detail: unreachable ?? app?.runtime.detail ?? '',
    };
  if (state.settings.paused)
    return { tone: 'warning', title: 'Paused', detail: 'The hub may do nothing here until you resume.' };
  if (state.paired === null) return { tone: 'plain', title: 'Not paired', detail: 'No hub can reach this machine.' };
  const hub = hostOf(state.paired.hub);
  if (!state.connection.isUp)
    return { tone: 'bad', title: 'Not connected', detail: state.connection.lastError ?? `Trying to reach ${hub}.` };
  const way = state.connection.by === 'channel' ? 'by channel' : 'by polls';
  return { tone: 'good', title: 'Connected', detail: `${hub} ${way}` };
}

/** How the companion stands, and the one button that stops all of it; at the same place on every page. */
export function StatusBar({ isLarge }: { isLarge: boolean }) {
  const data = useData();
  const store = useStore();
  const action = useAction();
  const { tone, title, detail } = statusOf(data);
  const isPaused = data.state?.settings.paused === true;
  return (
    <header className={`status-bar ${isLarge ? 'large' : ''} ${tone}`}>
      <div className="status-row">
        <div className="status" role="status">
          <span className={`dot ${tone}`} />
          <span className="status-text">
            <span className="status-title">{title}</span>
            <span className="status-detail">
              <Line text={detail} />
            </span>
          </span>
        </div>
        {data.state !== null && (
          <Button
            look={isPaused ? 'main' : 'plain'}
            size={isLarge ? 'big' : 'normal'}
            className="pause"
            disabled={action.isBusy}
            onClick={() => void action.run(() => store.change({ change: isPaused ? 'resume' : 'pause' }))}
          >
            {isPaused ? <PlayIcon /> : <PauseIcon />}
            {isPaused ? 'Resume' : 'Pause'}
          </Button>
        )}
      </div>
      <ActionError action={action} />
    </header>
  );
}
