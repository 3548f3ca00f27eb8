import { useMemo, useState } from 'react';
import { CommandRow } from '../command-row.tsx';
import { useNow, useSelected } from '../companion-context.tsx';
import { historyLimit } from '../companion-store.ts';
import { Button, Empty, Section } from '../controls.tsx';
import { describeOutcome, isOwnerEntry } from '../outcome-words.ts';
import type { PastEntry } from '../outcome-words.ts';
import { count, dayOf } from '../words.ts';

const dayMs = 86_400_000;
const pageSize = 50;

const filters: readonly (readonly [name: string, label: string, holds: (entry: PastEntry) => boolean])[] = [
  ['all', 'All', () => true],
  ['pictures', 'With a picture', ({ hasPicture }) => hasPicture],
  ['stopped', 'Refused or failed', (entry) => describeOutcome(entry)[1] !== 'good'],
  ['own', 'What you did', isOwnerEntry],
];

/** Commands and actions of the owner in the last 24 hours. */
export function ActivityPage() {
  const history = useSelected((data) => data.history);
  const now = useNow(30_000);
  const [filter, setFilter] = useState('all');
  const [shown, setShown] = useState(pageSize);
  const { recent, chosen, counts, days } = useMemo(() => {
    const ofLastDay = (history ?? []).filter(({ time }) => now - Date.parse(time) < dayMs);
    const ofFilter = ofLastDay.filter((filters.find(([name]) => name === filter) ?? filters[0]!)[2]);
    return {
      recent: ofLastDay,
      chosen: ofFilter,
      counts: new Map(filters.map(([name, , holds]) => [name, ofLastDay.filter(holds).length])),
      days: Map.groupBy(ofFilter.slice(0, shown), ({ time }) => dayOf(time, now)),
    };
  }, [history, filter, shown, now]);
  return (
    <>
      <div className="page-head">
        <h1>Activity</h1>
        <p>Commands from the hub in the last 24 hours, their outcomes, and your own changes.</p>
      </div>
      <div className="filters" role="group" aria-label="Show">
        {filters.map(([name, label]) => (
          <button
            key={name}
            type="button"
            className="filter"
            aria-pressed={name === filter}
            onClick={() => setFilter(name)}
          >
            {label} <span className="filter-count">{count(counts.get(name) ?? 0)}</span>
          </button>
        ))}
      </div>
      {chosen.length === 0 && (
        <div className="card">
          <Empty>{recent.length === 0 ? 'Nothing ran in the last 24 hours.' : 'No entries match this filter.'}</Empty>
        </div>
      )}
      {[...days].map(([day, entries]) => (
        <Section key={day} title={day}>
          <ul className="rows">
            {entries.map((entry) => (
              <CommandRow key={entry.commandId} entry={entry} />
            ))}
          </ul>
        </Section>
      ))}
      {chosen.length > shown && (
        <Button onClick={() => setShown(shown + pageSize)}>
          Show {count(Math.min(pageSize, chosen.length - shown))} more
        </Button>
      )}
      {recent.length >= historyLimit && (
        <p className="hint">
          The last 24 hours had more entries than the newest {count(historyLimit)} shown here. To see all of them:{' '}
          <code>outrigger-companion audit --limit {historyLimit * 10}</code>
        </p>
      )}
    </>
  );
}
