import { memo } from 'react';
import { Badge, Line } from './controls.tsx';
import { PingIcon, SettingsIcon, TickIcon, powerIcons } from './icons.tsx';
import { describeOutcome, inOwnersWords, isOwnDoing } from './outcome-words.ts';
import type { PastEntry } from './outcome-words.ts';
import { Thumbnail } from './pictures.tsx';
import { describeType, durationOf, powerOfType, timeOf } from './words.ts';

const ownIcons = new Map([
  ['owner.change', SettingsIcon],
  ['owner.answer', TickIcon],
]);

export function TypeIcon({ type }: { type: string }) {
  const power = powerOfType(type);
  const Icon = ownIcons.get(type) ?? (power === null ? PingIcon : powerIcons[power]);
  return (
    <span className="type-icon">
      <Icon />
    </span>
  );
}

/** What became of a command, in words and with its code. */
function Outcome({ entry }: { entry: PastEntry }) {
  const [words, tone] = describeOutcome(entry);
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

interface CommandRowProps {
  entry: PastEntry;
  /** On one line, without its message and its picture. */
  isShort?: boolean;
}

/** One command that is over, or one thing that the owner did. */
export const CommandRow = memo(function CommandRow({ entry, isShort = false }: CommandRowProps) {
  const isOwn = isOwnDoing(entry);
  return (
    <li className="command-row">
      <TypeIcon type={entry.type} />
      <div className="command-text">
        <div className="command-head">
          <strong>
            <Line text={describeType(entry.type)} />
          </strong>
          {!(isOwn && entry.outcome === 'done') && <Outcome entry={entry} />}
        </div>
        {entry.summary !== '' && (
          <div className={`${isOwn ? 'message' : 'summary'} ${isShort ? 'short' : ''}`}>
            <Line text={entry.summary} />
          </div>
        )}
        {entry.message !== null && !isShort && (
          <div className="message">
            <Line text={inOwnersWords(entry.message)} />
          </div>
        )}
        <div className="details">
          <time dateTime={entry.time}>{timeOf(entry.time)}</time>
          {/* What never began took no time worth telling. */}
          {!isOwn && entry.began !== false && <span>{durationOf(entry.durationMs)}</span>}
          {entry.approvedBy !== null && (
            <span>
              approved by <Line text={entry.approvedBy} />
            </span>
          )}
        </div>
      </div>
      {entry.hasPicture && !isShort && <Thumbnail entry={entry} />}
    </li>
  );
});
