import { useEffect, useReducer, useRef, useState } from 'react';
import type { LogLine } from '../../../../../shared/client/operations.ts';
import { background } from '../../../../../shared/web/background.ts';
import type { StreamedEvent } from '../../../../../shared/web/event-stream-parser.ts';
import { client } from '../../app/api.ts';
import type { Answer } from '../../app/api.ts';
import { followStream } from '../../app/follow-stream.ts';
import { noteFailure } from '../../app/session-state.ts';

/** Lines per request. */
const pageSize = 100;
/** Requests for one stretch of older lines. */
const pagesAtOnce = 3;
/** Requests for the lines that a stream missed. With more lines, the view starts again with the newest ones. */
const maxCatchUpPages = 20;
/** Older lines are dropped when there are more, so that a page that stays open for days has bounded memory. */
const maxLines = 100_000;
/** New lines are shown together. */
const flushMs = 100;

export interface LogFilter {
  runId: string;
  level?: LogLine['level'] | undefined;
  /** Only lines of this step. The hub filters by its time, the page by its index. */
  step?: { index: number; from: string; to: string | null } | undefined;
}

const rangeOf = ({ step }: LogFilter) =>
  step === undefined
    ? {}
    : { from: step.from, ...(step.to === null ? {} : { to: new Date(Date.parse(step.to) + 1_000).toISOString() }) };

/** The lines of a run that are loaded, oldest first, in the order of their ids. */
class Lines {
  all: LogLine[] = [];
  /** Cursor of the next older page; null when the oldest line is loaded; undefined before the first page. */
  cursor: string | null | undefined = undefined;
  /** Number of lines that were added before or removed from the start, so that the view can keep its place. */
  shift = 0;
  readonly #ids = new Set<string>();

  add(lines: readonly LogLine[]): void {
    const fresh = lines.filter(({ id }) => !this.#ids.has(id));
    if (fresh.length === 0) return;
    for (const { id } of fresh) this.#ids.add(id);
    const first = this.all[0]?.id;
    const older = fresh
      .filter(({ id }) => first !== undefined && id < first)
      .toSorted((one, two) => (one.id < two.id ? -1 : 1));
    const newer = fresh
      .filter(({ id }) => first === undefined || id >= first)
      .toSorted((one, two) => (one.id < two.id ? -1 : 1));
    if (older.length > 0) {
      this.all = [...older, ...this.all];
      this.shift += older.length;
    }
    const last = this.all.at(-1)?.id ?? '';
    const isInOrder = newer.length === 0 || (newer[0]?.id ?? '') > last;
    this.all.push(...newer);
    // A line of a parallel step can be stored late.
    if (!isInOrder) this.all.sort((one, two) => (one.id < two.id ? -1 : 1));
    const surplus = this.all.length - maxLines;
    if (surplus > 0) {
      for (const { id } of this.all.splice(0, surplus)) this.#ids.delete(id);
      this.shift -= surplus;
      this.cursor = null;
      this.isCut = true;
    }
  }

  /** Whether lines at the start were dropped. */
  isCut = false;
}

export interface Logs {
  lines: readonly LogLine[];
  shift: number;
  isLoading: boolean;
  hasOlder: boolean;
  isCut: boolean;
  error: unknown;
  loadOlder: () => void;
  retry: () => void;
}

/** Reads the log lines of a run from the newest on, and follows new ones while the run goes on. */
export function useLogs(filter: LogFilter, isLive: boolean): Logs {
  const { runId, level, step } = filter;
  const key = JSON.stringify([runId, level, step?.index, step?.from]);
  const store = useRef(new Lines());
  const [, render] = useReducer((count: number) => count + 1, 0);
  const [isLoading, setLoading] = useState(true);
  const [error, setError] = useState<unknown>(null);
  const [attempt, setAttempt] = useState(0);
  const [isReady, setReady] = useState(false);
  const latest = useRef(filter);
  latest.current = filter;

  const isShown = (line: LogLine) => latest.current.step === undefined || line.stepIndex === latest.current.step.index;
  const readPage = (cursor: string | null | undefined, signal: AbortSignal | undefined) =>
    client.call(
      'listAutomationLogs',
      {
        query: {
          runId,
          limit: pageSize,
          ...rangeOf(latest.current),
          ...(level === undefined ? {} : { level }),
          ...(cursor === undefined || cursor === null ? {} : { cursor }),
        },
      },
      signal === undefined ? {} : { signal },
    );
  /** Reads the next older pages; the newest one at first. */
  const readOlder = async (pages: number, signal?: AbortSignal) => {
    const lines = store.current;
    for (let page = 0; page < pages && lines.cursor !== null; page += 1) {
      const { data, meta } = await readPage(lines.cursor, signal);
      // Another run or filter is shown now.
      if (lines !== store.current) return;
      lines.cursor = meta.nextCursor;
      lines.add(data.filter(isShown));
      setReady(true);
    }
  };
  /** Reads the lines after the newest one that is loaded. They are added together, so that no gap can stay. */
  const catchUp = async () => {
    const lines = store.current;
    const known = lines.all.at(-1)?.id;
    const missing: LogLine[] = [];
    let cursor: string | null = null;
    for (let page = 0; page < maxCatchUpPages; page += 1) {
      const { data, meta }: Answer<'listAutomationLogs'> = await readPage(cursor, undefined);
      if (lines !== store.current) return;
      missing.push(...data);
      cursor = meta.nextCursor;
      if (cursor === null || known === undefined || data.some(({ id }) => id <= known)) {
        lines.add(missing.filter(isShown));
        if (known === undefined) lines.cursor = cursor;
        return;
      }
    }
    setAttempt((count) => count + 1);
  };
  const load = (work: () => Promise<void>, signal?: AbortSignal) => {
    setLoading(true);
    setError(null);
    background(
      work()
        .catch((failure: unknown) => {
          if (signal?.aborted === true) return;
          noteFailure(failure);
          setError(failure);
        })
        .finally(() => {
          setLoading(false);
          render();
        }),
    );
  };

  useEffect(() => {
    store.current = new Lines();
    setReady(false);
    const stop = new AbortController();
    load(() => readOlder(1, stop.signal), stop.signal);
    return () => stop.abort();
  }, [key, attempt]);

  // When the run has ended, its last lines are read: the stream can have ended before them.
  const wasLive = useRef(isLive);
  useEffect(() => {
    if (wasLive.current && !isLive) load(catchUp);
    wasLive.current = isLive;
  }, [isLive]);

  useEffect(() => {
    // The stream continues after the newest line that is loaded. Before, it would send the oldest lines.
    if (!isLive || !isReady) return;
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let waiting: LogLine[] = [];
    // The id of a run is older than those of its lines.
    let lastId = runId;
    const stream = {
      open: (signal: AbortSignal) =>
        client.open(
          'streamAutomationLogs',
          { query: { runId, ...(level === undefined ? {} : { level }) } },
          { headers: { 'last-event-id': store.current.all.at(-1)?.id ?? lastId }, signal },
        ),
      onEvent: ({ event, data, id }: StreamedEvent) => {
        lastId = id;
        if (event === 'reset') setAttempt((count) => count + 1);
        if (event !== 'log') return;
        waiting.push(JSON.parse(data) as LogLine);
        timer ??= setTimeout(() => {
          timer = undefined;
          store.current.add(waiting.filter(isShown));
          waiting = [];
          render();
        }, flushMs);
      },
    };
    background(followStream(stream, stop.signal));
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [key, isLive, isReady]);

  const { all, shift, cursor, isCut } = store.current;
  return {
    lines: all,
    shift,
    isLoading,
    hasOlder: typeof cursor === 'string',
    isCut,
    error,
    loadOlder: () => load(() => readOlder(pagesAtOnce)),
    retry: () => setAttempt((count) => count + 1),
  };
}
