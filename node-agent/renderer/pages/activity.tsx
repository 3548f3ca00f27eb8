import { useState } from 'react';
import type { HistoryEntry } from '../../../shared/companion/state.ts';
import { CommandRow } from '../command-row.tsx';
import { useData, useNow } from '../companion-context.tsx';
import { Button, Empty, Section } from '../controls.tsx';
import { count, dayOf, describeOutcome } from '../words.ts';

const dayMs = 86_400_000;
const shownAtOnce = 50;

const filters: readonly (readonly [name: string, label: string, holds: (entry: HistoryEntry) => boolean])[] = [
  ['all', 'All', () => true],
  ['pictures', 'With a picture', ({ hasPicture }) => hasPicture],
  ['stopped', 'Refused or failed', ({ outcome }) => describeOutcome(outcome)[1] !== 'good'],
];

/** Everything that ran in the last day. */
export function ActivityPage() {
  const { history } = useData();
  const now = useNow(30_000);
  const [filter, setFilter] = useState('all');
  const [shown, setShown] = useState(shownAtOnce);
  const recent = (history ?? []).filter(({ time }) => now - Date.parse(time) < dayMs);
  const chosen = recent.filter((filters.find(([name]) => name === filter) ?? filters[0]!)[2]);
  const days = Map.groupBy(chosen.slice(0, shown), ({ time }) => dayOf(time, now));
  return (
    <>
      <div className="page-head">
        <h1>Activity</h1>
        <p>What the hub asked of this machine in the last 24 hours, and what became of it.</p>
      </div>
      <div className="filters" role="group" aria-label="Show">
        {filters.map(([name, label, holds]) => (
          <button
            key={name}
            type="button"
            className="filter"
            aria-pressed={name === filter}
            onClick={() => setFilter(name)}
          >
            {label} <span className="filter-count">{count(recent.filter(holds).length)}</span>
          </button>
        ))}
      </div>
      {chosen.length === 0 && (
        <div className="card">
          <Empty>{recent.length === 0 ? 'Nothing ran in the last 24 hours.' : 'Nothing of this kind ran.'}</Empty>
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
        <Button onClick={() => setShown(shown + shownAtOnce)}>
          Show {count(Math.min(shownAtOnce, chosen.length - shown))} more
        </Button>
      )}
    </>
  );
}
