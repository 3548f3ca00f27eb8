import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { background } from '../../../../../shared/web/background.ts';
import { query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { Button } from '../../ui/button.tsx';
import { CopyId } from '../../ui/copy-id.tsx';
import { Page, TextLink } from '../../ui/layout.tsx';
import { LoadedPage } from '../../ui/loaded.tsx';
import { StatusPill } from '../../ui/status.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { LocalTime } from '../../ui/time.tsx';
import { useArtifacts } from './artifacts.tsx';
import { Banner } from './banner.tsx';
import { Inspector } from './inspector.tsx';
import { RunLogs } from './logs.tsx';
import { StartedBy, useStepErrorText, useStepName } from './names.tsx';
import { RelatedRuns } from './related-runs.tsx';
import { RunActions, useNewerVersion } from './run-actions.tsx';
import { RunInput } from './run-input.tsx';
import { firstSelection, isFinal } from './run-model.ts';
import type { Run } from './run-model.ts';
import type { LogPlace, RunSearch, RunView as View } from './run-search.ts';
import { timelineOf } from './timeline-model.ts';
import type { ApprovalSpan, Timeline as TimelineModel } from './timeline-model.ts';
import { Timeline } from './timeline.tsx';
import { useClock, useRun } from './use-run.ts';
import { WaitBanner } from './wait-banner.tsx';

const route = getRouteApi('/runs/$runId');

/** The times of the approvals of a run, and who decided or can decide them. */
function useApprovalSpans(run: Run): ApprovalSpan[] {
  const { data } = useQuery({
    ...query('listAutomationApprovalSummaries', { query: { runId: run.id, limit: 100 } }),
    enabled: run.stepsResultJson.some(({ approval }) => approval !== null),
  });
  return useMemo(
    () =>
      (data?.data ?? []).map(({ stepIndex, createdAt, decidedAt, decider, approvers }) => ({
        stepIndex,
        from: Date.parse(createdAt),
        to: decidedAt === null ? null : Date.parse(decidedAt),
        who: visibleLine(decider?.name ?? approvers.slice(0, 2).join(', ')),
      })),
    [data],
  );
}

/** A shorter time in the queue is no news. */
const shownQueueMs = 1_000;

/** Trigger, version, environment, start, and how long the run worked and waited. */
function RunMeta({ run, timeline }: { run: Run; timeline: TimelineModel }) {
  const { words, format, duration } = useLanguage();
  return (
    <span className="flex flex-wrap gap-x-1.5 gap-y-1 *:not-last:after:ms-1.5 *:not-last:after:content-['·']">
      <StartedBy run={run} />
      <span>
        <TextLink to="/workflows/$workflowId/{-$tab}" params={{ workflowId: run.workflowId }}>
          {format(words.run.version, { version: run.workflowVersion })}
        </TextLink>
      </span>
      <span>{words.common[run.environment]}</span>
      <span>
        {run.startedAt === null ? words.run.queued : words.run.started} <LocalTime at={run.startedAt ?? run.queuedAt} />
      </span>
      <span>
        <CopyId id={run.id} />
      </span>
      {run.attempt > 1 && <span>{format(words.run.attempt, { count: run.attempt })}</span>}
      <span>
        {format(words.run.times, {
          total: duration(timeline.totalMs),
          working: duration(timeline.workingMs),
          waiting: duration(timeline.waitingMs),
        })}
      </span>
      {timeline.queuedMs >= shownQueueMs && (
        <span>{format(words.run.inQueue, { time: duration(timeline.queuedMs) })}</span>
      )}
    </span>
  );
}

/** Why the run failed, with the step that failed. */
function FailureBanner({ run, onSelect }: { run: Run; onSelect: (index: number) => void }) {
  const { words, format } = useLanguage();
  const stepName = useStepName();
  const errorText = useStepErrorText();
  const newer = useNewerVersion(run);
  const { error } = run;
  if (error === null || run.status !== 'failed') return null;
  const step = error.stepIndex === undefined ? undefined : run.stepsResultJson[error.stepIndex];
  return (
    <Banner
      tone="danger"
      title={
        step === undefined
          ? words.run.failed
          : format(words.run.failedAt, { position: step.index + 1, name: stepName(step) })
      }
      actions={step !== undefined && <Button onClick={() => onSelect(step.index)}>{words.run.showStep}</Button>}
    >
      <p dir="auto" className="line-clamp-4 whitespace-pre-line">
        {errorText(error, step)}
      </p>
      <p className="text-xs">
        <code>{visibleLine(error.code)}</code>
      </p>
      {newer !== null && (
        <p className="mt-1 text-text">
          {format(words.run.actions.newerVersion, { version: String(newer), old: String(run.workflowVersion) })}
        </p>
      )}
    </Banner>
  );
}

/** Leaves the place in the log. */
const nowhere: LogPlace = { q: undefined, line: undefined };

function RunView({ run }: { run: Run }) {
  const { words, format } = useLanguage();
  const search: RunSearch = route.useSearch();
  const navigate = route.useNavigate();
  const now = useClock(!isFinal(run.status));
  const approvals = useApprovalSpans(run);
  const artifacts = useArtifacts(run);
  // The lanes stay the same while the reader moves through the steps.
  const timeline = useMemo(() => timelineOf(run, approvals, now), [run, approvals, now]);
  const steps = run.stepsResultJson;
  const selected = search.step !== undefined && search.step < steps.length ? search.step : firstSelection(run);
  const step = steps[selected];
  const show = useCallback(
    (change: RunSearch) =>
      background(navigate({ search: (old: RunSearch) => ({ ...old, ...change }), replace: true, resetScroll: false })),
    [navigate],
  );
  const select = useCallback((index: number) => show({ ...nowhere, step: index, view: undefined }), [show]);
  const isSheetOpen = search.step !== undefined;
  const name = visibleLine(run.workflowName);
  return (
    <Page
      title={name}
      crumbs={[{ label: words.common.runs, link: { to: '/runs' } }]}
      aside={<StatusPill status={run.status} />}
      documentTitle={format(words.run.tabTitle, { name, status: words.common.status[run.status] })}
      meta={<RunMeta run={run} timeline={timeline} />}
      actions={<RunActions run={run} selected={selected} />}
    >
      <FailureBanner run={run} onSelect={select} />
      <WaitBanner run={run} />
      <Tabs<View | 'steps'>
        label={words.run.views}
        selected={search.view ?? 'steps'}
        onSelect={(view) => show({ ...nowhere, view: view === 'steps' ? undefined : view })}
        tabs={[
          { name: 'steps', label: format(words.run.stepsCount, { count: steps.length }) },
          { name: 'logs', label: words.run.logs },
          { name: 'input', label: words.run.runInput },
          { name: 'related', label: words.run.related },
        ]}
      />
      {search.view === 'logs' && <RunLogs run={run} place={search} onPlace={show} />}
      {search.view === 'input' && <RunInput run={run} />}
      {search.view === 'related' && <RelatedRuns run={run} />}
      {search.view === undefined && (
        <div
          className={`grid gap-3.5 lg:grid-cols-[minmax(0,1fr)_minmax(20rem,25rem)] ${isSheetOpen ? 'max-lg:pb-[70dvh]' : ''}`}
        >
          <Timeline run={run} timeline={timeline} artifacts={artifacts} selected={selected} onSelect={select} />
          {step !== undefined && (
            <Inspector
              run={run}
              step={step}
              artifacts={artifacts.byStep.get(selected) ?? []}
              tab={search.tab ?? 'result'}
              onTab={(tab) => show({ ...nowhere, step: selected, tab: tab === 'result' ? undefined : tab })}
              place={search}
              onPlace={(place) => show({ step: selected, ...place })}
              isSheetOpen={isSheetOpen}
              onClose={() => show({ step: undefined })}
            />
          )}
        </div>
      )}
    </Page>
  );
}

/** One run: what each step did, why the run waits or failed, and what to do about it. */
export function RunPage() {
  const { runId } = route.useParams();
  const { words } = useLanguage();
  return (
    <LoadedPage
      of={useRun(runId)}
      type="run"
      missing={words.run.missing}
      crumbs={[{ label: words.common.runs, link: { to: '/runs' } }]}
    >
      {(run) => <RunView key={runId} run={run} />}
    </LoadedPage>
  );
}
