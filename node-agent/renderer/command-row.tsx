import { Fragment, memo } from 'react';
import { describeOrigin } from '../../shared/companion/origin-labels.ts';
import { Badge, Line } from './controls.tsx';
import { ExactText } from './exact-text.tsx';
import { PingIcon, SettingsIcon, TickIcon, powerIcons } from './icons.tsx';
import { describeOutcome, rewordForOwner, isOwnerEntry } from './outcome-words.ts';
import type { PastEntry } from './outcome-words.ts';
import { Thumbnail } from './pictures.tsx';
import { count, describeType, durationOf, powerOfType, timeOf } from './words.ts';

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

function Outcome({ entry }: { entry: PastEntry }) {
  const [words, tone] = describeOutcome(entry);
  return <Badge tone={tone}>{words}</Badge>;
}

/** How long a command ran. If the companion was killed, at most an upper bound is known. */
function lengthOf({ outcome, durationMs }: PastEntry): string {
  if (outcome !== 'outcome_unknown') return durationOf(durationMs);
  return durationMs === 0 ? 'duration unknown' : `at most ${durationOf(durationMs)}`;
}

/** The origin of a command: who started it, who approved it, and the reason. */
function Origin({ entry: { origin, approvedBy } }: { entry: PastEntry }) {
  return (
    <dl className="facts origin-facts">
      {describeOrigin(origin, approvedBy).map(([name, words]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>
            <Line text={words} />
          </dd>
        </Fragment>
      ))}
    </dl>
  );
}

/** The script that ran in a page, collapsed by default. */
function Script({ script }: { script: NonNullable<PastEntry['script']> }) {
  return (
    <details className="help">
      <summary>Script, {script.characters === 1 ? '1 character' : `${count(script.characters)} characters`}</summary>
      <pre className="stdin" tabIndex={0} aria-label="Script">
        <ExactText text={script.text} isMultiLine />
      </pre>
      {script.text.length < script.characters && (
        <p>
          The log keeps the beginning and the end of a long script. SHA-256 of the whole script:{' '}
          <code>
            <Line text={script.sha256} />
          </code>
        </p>
      )}
    </details>
  );
}

interface CommandRowProps {
  entry: PastEntry;
  /** One line, without message and picture. */
  isShort?: boolean;
}

/** A finished command, or an action of the owner. */
export const CommandRow = memo(function CommandRow({ entry, isShort = false }: CommandRowProps) {
  const isOwn = isOwnerEntry(entry);
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
        {entry.summary !== '' && (isShort || entry.script === null) && (
          <div className={`${isOwn ? 'message' : 'summary'} ${isShort ? 'short' : ''}`}>
            <Line text={entry.summary} />
          </div>
        )}
        {entry.message !== null && !isShort && (
          <div className="message">
            <Line text={rewordForOwner(entry.message)} />
          </div>
        )}
        <div className="details">
          <time dateTime={entry.time}>{timeOf(entry.time)}</time>
          {/* A command that never started has no duration. */}
          {!isOwn && entry.began !== false && <span>{lengthOf(entry)}</span>}
          {isShort && entry.origin?.workflow !== undefined && (
            <span>
              workflow <Line text={entry.origin.workflow.name} />
            </span>
          )}
          {isShort && entry.approvedBy !== null && (
            <span>
              approved by <Line text={entry.approvedBy} />
            </span>
          )}
        </div>
        {!isShort && !isOwn && (entry.origin !== null || entry.approvedBy !== null) && <Origin entry={entry} />}
        {!isShort && entry.script !== null && <Script script={entry.script} />}
      </div>
      {entry.hasPicture && !isShort && <Thumbnail entry={entry} />}
    </li>
  );
});
