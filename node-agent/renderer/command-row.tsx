import type { HistoryEntry } from '../../shared/companion/state.ts';
import { Badge, Line } from './controls.tsx';
import { PingIcon, powerIcons } from './icons.tsx';
import { Thumbnail } from './pictures.tsx';
import { describeOutcome, describeType, durationOf, powerOfType, timeOf } from './words.ts';

export function TypeIcon({ type }: { type: string }) {
  const power = powerOfType(type);
  const Icon = power === null ? PingIcon : powerIcons[power];
  return (
    <span className="type-icon">
      <Icon />
    </span>
  );
}

/** What became of a command, in words and with its code. */
function Outcome({ entry }: { entry: HistoryEntry }) {
  const [words, tone] = describeOutcome(entry.outcome);
  return (
    <span className="outcome">
      <Badge tone={tone}>{words}</Badge>
      {entry.outcome !== 'succeeded' && (
        <code className="code">
          <Line text={entry.outcome} />
        </code>
      )}
    </span>
  );
}

/** One command that is over. */
export function CommandRow({ entry, isShort = false }: { entry: HistoryEntry; isShort?: boolean }) {
  return (
    <li className="command-row">
      <TypeIcon type={entry.type} />
      <div className="command-text">
        <div className="command-head">
          <strong>
            <Line text={describeType(entry.type)} />
          </strong>
          <Outcome entry={entry} />
        </div>
        {entry.summary !== '' && (
          <div className={`summary ${isShort ? 'short' : ''}`}>
            <Line text={entry.summary} />
          </div>
        )}
        {entry.message !== null && !isShort && (
          <div className="message">
            <Line text={entry.message} />
          </div>
        )}
        <div className="details">
          <time dateTime={entry.time}>{timeOf(entry.time)}</time>
          <span>{durationOf(entry.durationMs)}</span>
          {entry.approvedBy !== null && (
            <span>
              approved by <Line text={entry.approvedBy} />
            </span>
          )}
        </div>
      </div>
      {entry.hasPicture && <Thumbnail entry={entry} />}
    </li>
  );
}
