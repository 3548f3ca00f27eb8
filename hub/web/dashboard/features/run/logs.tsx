import { FileDown } from 'lucide-react';
import { useEffect, useState } from 'react';
import { addressOf } from '../../../../../shared/client/client.ts';
import type { LogLine } from '../../../../../shared/client/operations.ts';
import { useLanguage } from '../../app/language.tsx';
import { Button } from '../../ui/button.tsx';
import { Input, Select } from '../../ui/form.tsx';
import { LiveLog } from './live-log.tsx';
import { levels } from './log-rows.tsx';
import { PagedLog } from './paged-log.tsx';
import { isFinal } from './run-model.ts';
import type { Run, StepResult } from './run-model.ts';
import type { LogPlace } from './run-search.ts';
import { rangeOf } from './use-logs.ts';

/** A search starts when the reader has stopped to type for this time. */
const typingMs = 300;
const maxSearchCharacters = 200;

/** The field of the search. The address follows it. */
function SearchField({ q, onSearch }: { q: string; onSearch: (q: string) => void }) {
  const { words } = useLanguage();
  const [text, setText] = useState(q);
  useEffect(() => setText(q), [q]);
  useEffect(() => {
    if (text === q) return;
    const timer = setTimeout(() => onSearch(text), typingMs);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <Input
      type="search"
      className="max-w-72 min-w-40 flex-1"
      aria-label={words.run.searchLogs}
      placeholder={words.run.searchLogs}
      maxLength={maxSearchCharacters}
      value={text}
      onChange={(event) => setText(event.target.value)}
    />
  );
}

/** The log of a run, or of one step: its newest lines, its lines from the beginning, those with a text, or a place. */
export function RunLogs({
  run,
  step,
  place: { q, line },
  onPlace,
}: {
  run: Run;
  step?: StepResult;
  place: LogPlace;
  onPlace: (place: LogPlace) => void;
}) {
  const { words } = useLanguage();
  const [level, setLevel] = useState<LogLine['level'] | undefined>(undefined);
  const [order, setOrder] = useState<'asc' | 'desc'>('desc');
  const isLive = !isFinal(run.status) && (step === undefined || step.finishedAt === null);
  const ofStep =
    step === undefined ? undefined : { index: step.index, from: step.startedAt ?? run.queuedAt, to: step.finishedAt };
  const chosen = {
    ...(level === undefined ? {} : { level }),
    ...(step === undefined ? {} : { stepIndex: step.index }),
  };
  const filter = {
    runId: run.id,
    ...chosen,
    ...(q === undefined || line !== undefined ? {} : { q }),
    ...(ofStep === undefined ? {} : rangeOf(ofStep)),
  };
  const download = addressOf('', 'downloadAutomationRunLogs', { params: { id: run.id }, query: chosen });
  const isPaged = line !== undefined || q !== undefined || order === 'asc';
  return (
    <div>
      <div className="mb-2 flex flex-wrap items-center gap-x-3 gap-y-1.5 text-sm">
        <SearchField q={q ?? ''} onSearch={(text) => onPlace({ q: text === '' ? undefined : text, line: undefined })} />
        <Select
          className="w-auto!"
          aria-label={words.run.level}
          value={level ?? ''}
          onChange={(event) => setLevel(levels.find((each) => each === event.target.value))}
        >
          <option value="">{words.run.allLevels}</option>
          {levels.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </Select>
        <Select
          className="w-auto!"
          aria-label={words.run.order}
          value={order}
          onChange={(event) => {
            setOrder(event.target.value === 'asc' ? 'asc' : 'desc');
            onPlace({ q, line: undefined });
          }}
        >
          <option value="desc">{words.run.newestFirst}</option>
          <option value="asc">{words.run.oldestFirst}</option>
        </Select>
        {line !== undefined && (
          <Button size="small" onClick={() => onPlace({ q, line: undefined })}>
            {q === undefined ? words.run.leavePlace : words.run.backToFound}
          </Button>
        )}
        <a
          href={download.url}
          download
          className="ms-auto inline-flex items-center gap-1.5 text-accent no-underline hover:underline"
        >
          <FileDown size={15} aria-hidden />
          {words.run.downloadLog}
        </a>
      </div>
      {isPaged ? (
        <PagedLog
          key={JSON.stringify([filter, order, line])}
          run={run}
          step={step}
          filter={filter}
          order={line === undefined ? order : 'asc'}
          line={line}
          {...(q !== undefined && line === undefined ? { onFound: ({ id }: LogLine) => onPlace({ q, line: id }) } : {})}
        />
      ) : (
        <LiveLog run={run} step={step} filter={{ runId: run.id, level, step: ofStep }} isLive={isLive} />
      )}
    </div>
  );
}
