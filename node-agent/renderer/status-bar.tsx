import { useAction, useSelected, useStore, useWorkspaceName } from './companion-context.tsx';
import { ActionError, Button, Line } from './controls.tsx';
import { PauseIcon, PlayIcon } from './icons.tsx';
import { rewordForOwner } from './outcome-words.ts';
import { hostOf } from './words.ts';

interface Status {
  tone: 'good' | 'bad' | 'warning' | 'plain';
  title: string;
  detail: string;
}

const runtimeWords = {
  starting: 'Starting',
  restarting: 'Restarting',
  stopped: 'Stopped',
  running: 'Waiting for the companion',
  attached: 'Waiting for the companion',
} as const;

/** Adds a full stop if the text has no end mark. */
const sentence = (text: string) => (/[.!?…]$/.test(text) ? text : `${text}.`);

function useStatus(): Status {
  const runtime = useSelected(({ app }) => app?.runtime ?? null);
  const unreachable = useSelected((data) => data.unreachable);
  const hasState = useSelected(({ state }) => state !== null);
  const isPaused = useSelected(({ state }) => state?.settings.paused === true);
  const paired = useSelected(({ state }) => state?.paired ?? null);
  const problem = useSelected(({ state }) => state?.problem ?? null);
  const connection = useSelected(({ state }) => state?.connection ?? null);
  const workspace = useWorkspaceName();
  if (!hasState || connection === null || unreachable !== null)
    return {
      tone: unreachable === null || runtime?.state === 'starting' ? 'plain' : 'bad',
      title: runtimeWords[runtime?.state ?? 'starting'],
      detail: unreachable ?? runtime?.detail ?? '',
    };
  if (isPaused) return { tone: 'warning', title: 'Paused', detail: 'The hub may do nothing here until you resume.' };
  if (paired === null) return { tone: 'plain', title: 'Not paired', detail: 'No hub can reach this machine.' };
  const hub = `${hostOf(paired.hub)}${workspace === null ? '' : `, workspace “${workspace}”,`}`;
  if (problem !== null) return { tone: 'bad', title: 'Not working', detail: `Paired with ${hostOf(paired.hub)}` };
  if (!connection.isUp) {
    const { lastError } = connection;
    return {
      tone: 'bad',
      title: 'Not connected',
      detail:
        lastError === null
          ? `Trying to reach ${hostOf(paired.hub)}.`
          : `${sentence(rewordForOwner(lastError))} It will retry automatically.`,
    };
  }
  const transport = connection.by === 'channel' ? 'by channel' : 'by polling';
  return { tone: 'good', title: 'Connected', detail: `${hub} ${transport}` };
}

/** Status of the companion and the pause button, at the same position on every page. */
export function StatusBar({ isLarge }: { isLarge: boolean }) {
  const store = useStore();
  const action = useAction();
  const { tone, title, detail } = useStatus();
  const hasState = useSelected(({ state }) => state !== null);
  const isPaused = useSelected(({ state }) => state?.settings.paused === true);
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
        {hasState && (
          <Button
            variant={isPaused ? 'main' : 'plain'}
            size={isLarge ? 'big' : 'normal'}
            className="pause"
            disabled={action.isBusy}
            onClick={() => action.run(() => store.change({ change: isPaused ? 'resume' : 'pause' }))}
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
