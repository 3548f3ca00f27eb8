import type { PowerState } from '../../../shared/companion/state.ts';
import { CommandRow, TypeIcon } from '../command-row.tsx';
import { useCompanionState, useData, useNow } from '../companion-context.tsx';
import { Badge, Button, Empty, Line, Section } from '../controls.tsx';
import { powerIcons } from '../icons.tsx';
import { Thumbnail } from '../pictures.tsx';
import { count, describePicture, describeType, durationOf, momentOf, powerWords } from '../words.ts';

const shownPictures = 4;
const shownCommands = 6;

const wholeSeconds = (ms: number) => Math.max(1, Math.floor(ms / 1_000)) * 1_000;

function RunningNow() {
  const { running } = useCompanionState();
  const now = useNow(1_000);
  if (running.length === 0) return <Empty>Nothing runs at the moment.</Empty>;
  return (
    <ul className="rows">
      {running.map((command) => (
        <li key={command.id} className="command-row">
          <TypeIcon type={command.type} />
          <div className="command-text">
            <div className="command-head">
              <strong>
                <Line text={describeType(command.type)} />
              </strong>
              <Badge>for {durationOf(wholeSeconds(now - Date.parse(command.startedAt)))}</Badge>
            </div>
            <div className="summary short">
              <Line text={command.summary} />
            </div>
          </div>
        </li>
      ))}
    </ul>
  );
}

/** What the hub may do with a power now, in a word or two. */
function tileState({ power, isAllowed, until }: PowerState, sharedFolders: number, now: number): string {
  if (!isAllowed) return 'Off';
  if (power === 'files' && sharedFolders === 0) return 'No folder shared';
  if (until !== null) return `Until ${momentOf(until, now)}`;
  if (power === 'files') return sharedFolders === 1 ? '1 folder' : `${count(sharedFolders)} folders`;
  return 'Allowed';
}

/** Whether the owner allows a power that cannot be used all the same. */
const isStopped = ({ isAllowed, hubAllows, system }: PowerState) =>
  isAllowed && (hubAllows === false || system.state === 'denied' || system.state === 'missing');

/** What the hub may do now, at a glance. */
function PowerTiles({ onShow }: { onShow: () => void }) {
  const { powers, settings } = useCompanionState();
  const now = useNow(30_000);
  return (
    <ul className="tiles">
      {powers.map((state) => {
        const { power, isAllowed } = state;
        const Icon = powerIcons[power];
        const isOn = isAllowed && !(power === 'files' && settings.sharedFolders.length === 0);
        return (
          <li key={power}>
            <button type="button" className={`tile ${isOn ? 'on' : ''}`} onClick={onShow}>
              <Icon />
              <span className="tile-name">{powerWords[power].name}</span>
              <span className="tile-state">{tileState(state, settings.sharedFolders.length, now)}</span>
              {isStopped(state) && (
                <span className="tile-problem">
                  {state.hubAllows === false ? 'Off at the hub' : 'Stopped by the system'}
                </span>
              )}
            </button>
          </li>
        );
      })}
    </ul>
  );
}

/** How things stand: what the hub may do, what runs, and what ran last. */
export function OverviewPage({ onShow }: { onShow: (page: 'activity' | 'permissions') => void }) {
  const { history } = useData();
  const now = useNow(30_000);
  const entries = history ?? [];
  const pictures = entries.filter(({ hasPicture }) => hasPicture).slice(0, shownPictures);
  return (
    <>
      <h1 className="visually-hidden">Overview</h1>
      <Section title="What the hub may do" isBare>
        <PowerTiles onShow={() => onShow('permissions')} />
      </Section>
      <Section title="Running now">
        <RunningNow />
      </Section>
      {pictures.length > 0 && (
        <Section title="Pictures it got" isBare>
          <ul className="gallery">
            {pictures.map((entry) => (
              <li key={entry.commandId}>
                <Thumbnail entry={entry} isLarge />
                <span className="gallery-name">
                  <Line text={describePicture(entry.type)} />
                </span>
                <time className="details" dateTime={entry.time}>
                  {momentOf(entry.time, now)}
                </time>
              </li>
            ))}
          </ul>
        </Section>
      )}
      <Section
        title="What ran last"
        end={
          <Button look="quiet" size="small" onClick={() => onShow('activity')}>
            Show all
          </Button>
        }
      >
        {history !== null && entries.length === 0 ? (
          <Empty>Nothing ran yet. What the hub asks for appears here.</Empty>
        ) : (
          <ul className="rows">
            {entries.slice(0, shownCommands).map((entry) => (
              <CommandRow key={entry.commandId} entry={{ ...entry, hasPicture: false }} isShort />
            ))}
          </ul>
        )}
      </Section>
    </>
  );
}
