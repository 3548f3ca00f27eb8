import { useMemo } from 'react';
import type { LocalSettings } from '../../../shared/companion/settings.ts';
import type { PowerState } from '../../../shared/companion/state.ts';
import { CommandRow, TypeIcon } from '../command-row.tsx';
import { useCompanionState, useNow, useSelected } from '../companion-context.tsx';
import { Badge, Button, Empty, Line, Section } from '../controls.tsx';
import { powerIcons } from '../icons.tsx';
import { isOwnerEntry } from '../outcome-words.ts';
import { Thumbnail } from '../pictures.tsx';
import { count, describePicture, describeType, durationOf, momentOf, powerWords } from '../words.ts';

const shownPictures = 4;
const renderCommands = 6;

const wholeSeconds = (ms: number) => Math.max(1, Math.floor(ms / 1_000)) * 1_000;

function RunningNow() {
  const running = useCompanionState((state) => state.running);
  const now = useNow(1_000);
  if (running.length === 0) return <Empty>No command is running.</Empty>;
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

/** Short text for what the hub may do with a power now. */
function tileState({ power, isAllowed, until }: PowerState, settings: LocalSettings, now: number): string {
  if (!isAllowed) return 'Off';
  if (settings.paused) return 'Paused';
  const sharedFolders = settings.sharedFolders.length;
  if (power === 'files' && sharedFolders === 0) return 'No folder shared';
  const asks = power === 'system' && settings.system.ask;
  if (until !== null) return `${asks ? 'Asks you, until' : 'Until'} ${momentOf(until, now)}`;
  if (asks) return 'Asks you first';
  if (power === 'files') return sharedFolders === 1 ? '1 folder' : `${count(sharedFolders)} folders`;
  return 'Allowed';
}

/** Why an allowed power cannot be used. Null if nothing blocks it. */
function blockReason({ power, isAllowed, hubAllows, system }: PowerState, { sharedFolders }: LocalSettings) {
  if (!isAllowed || (power === 'files' && sharedFolders.length === 0)) return null;
  if (hubAllows === false) return 'Off at the hub';
  if (system.state !== 'denied' && system.state !== 'missing') return null;
  if (power !== 'files') return 'Blocked by the system';
  // The detail contains one sentence for each folder that cannot be used.
  const missing = sharedFolders.filter((path) => system.detail.includes(`${path} is not there.`)).length;
  if (missing === 0) return sharedFolders.length === 1 ? "It can't be read" : 'Not all of them can be read';
  return missing === 1 ? '1 folder is not there' : `${count(missing)} folders are not there`;
}

function PowerTiles({ onShow }: { onShow: () => void }) {
  const powers = useCompanionState((state) => state.powers);
  const settings = useCompanionState((state) => state.settings);
  const now = useNow(30_000);
  return (
    <ul className="tiles">
      {powers.map((state) => {
        const { power, isAllowed } = state;
        const Icon = powerIcons[power];
        const isOn = isAllowed && !settings.paused && !(power === 'files' && settings.sharedFolders.length === 0);
        const block = blockReason(state, settings);
        return (
          <li key={power}>
            <button type="button" className={`tile ${isOn ? 'on' : ''}`} onClick={onShow}>
              <Icon />
              <span className="tile-name">{powerWords[power].name}</span>
              <span className="tile-state">{tileState(state, settings, now)}</span>
              {block !== null && <span className="tile-problem">{block}</span>}
            </button>
          </li>
        );
      })}
    </ul>
  );
}

/** Overview: what the hub may do, running commands, and recent commands. */
export function OverviewPage({ onShow }: { onShow: (page: 'activity' | 'permissions') => void }) {
  const history = useSelected((data) => data.history);
  const now = useNow(30_000);
  const entries = useMemo(() => (history ?? []).filter((entry) => !isOwnerEntry(entry)), [history]);
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
        <Section title="Pictures sent to the hub" isBare>
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
        title="Recent commands"
        end={
          <Button variant="quiet" size="small" onClick={() => onShow('activity')}>
            Show all
          </Button>
        }
      >
        {history !== null && entries.length === 0 ? (
          <Empty>No commands yet. Commands from the hub appear here.</Empty>
        ) : (
          <ul className="rows">
            {entries.slice(0, renderCommands).map((entry) => (
              <CommandRow key={entry.commandId} entry={entry} isShort />
            ))}
          </ul>
        )}
      </Section>
    </>
  );
}
