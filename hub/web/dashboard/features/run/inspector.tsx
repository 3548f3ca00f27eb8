import { useQuery } from '@tanstack/react-query';
import { X } from 'lucide-react';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { visibleLine, visibleText } from '../../../../../shared/visible-text.ts';
import { query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { IconButton } from '../../ui/button.tsx';
import { LoadError } from '../../ui/error.tsx';
import { Facts } from '../../ui/layout.tsx';
import { Loading } from '../../ui/loaded.tsx';
import { NodeLink, RunLink, useNodeNames } from '../../ui/object-links.tsx';
import { StatusPill } from '../../ui/status.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { AgentTurnList } from './agent-turns.tsx';
import { StepArtifacts } from './artifacts.tsx';
import { ExactTime } from './clock.tsx';
import { RunLogs } from './logs.tsx';
import { useStepErrorText, useStepName } from './names.tsx';
import { isKept } from './run-model.ts';
import type { Run, RunArtifact, StepResult } from './run-model.ts';
import type { InspectorTab, LogPlace } from './run-search.ts';
import { StepAttempts } from './step-attempts.tsx';
import { useLiveTurns } from './use-live-turns.ts';
import { JsonValueView, LargeValueNote, TextView, treeBytes } from './value-view.tsx';

/** The step with its input and output. A large one is read only when the reader asks for it. */
function useStepValues(run: Run, step: StepResult, wants: boolean) {
  const [asked, setAsked] = useState<string | null>(null);
  const id = `${run.id} ${step.index}`;
  const isOpen = step.outputBytes <= treeBytes || asked === id;
  const { queryKey, queryFn } = query('getAutomationRunStep', { params: { id: run.id, index: step.index } });
  const result = useQuery<StepResult>({
    // A changed step is read again.
    queryKey: [...queryKey, step.status, step.attempts, step.finishedAt, step.outputBytes],
    queryFn: queryFn as () => Promise<StepResult>,
    enabled: wants && isOpen && step.status !== 'pending',
    staleTime: Number.POSITIVE_INFINITY,
    // A whole output can have 4 MiB.
    gcTime: 10_000,
  });
  return { ...result, isOpen, open: () => setAsked(id) };
}

/** Smaller outputs are seen whole, so their size is no news. */
const shownBytes = 1024;

function StepFacts({ run, step }: { run: Run; step: StepResult }) {
  const { words, duration, bytes } = useLanguage();
  const names = useNodeNames(step.commands.length > 0);
  const nodeIds = [...new Set(step.commands.map(({ nodeId }) => nodeId))];
  const { data: catalog } = useQuery({
    ...query('listAutomationSkillCatalog'),
    staleTime: Number.POSITIVE_INFINITY,
    enabled: step.skillId !== null,
  });
  const effect = catalog?.skills.find(({ id }) => id === step.skillId)?.effectType;
  const rows: [string, ReactNode][] = [[words.run.does, <code key="does">{step.skillId ?? step.type}</code>]];
  const add = (isKnown: boolean, name: string, value: ReactNode) => {
    if (isKnown) rows.push([name, value]);
  };
  add(
    nodeIds.length > 0,
    words.run.node,
    nodeIds.map((nodeId, index) => (
      <span key={nodeId}>
        {index > 0 && ', '}
        <NodeLink nodeId={nodeId} names={names} />
      </span>
    )),
  );
  if (step.startedAt !== null)
    rows.push([
      words.run.time,
      <span key="time">
        <ExactTime at={step.startedAt} />
        {step.finishedAt !== null &&
          ` · ${duration(Math.max(0, Date.parse(step.finishedAt) - Date.parse(step.startedAt)))}`}
      </span>,
    ]);
  add(step.when !== null, words.run.condition, <code>{visibleLine(step.when ?? '')}</code>);
  add(step.timeoutSeconds !== null, words.run.timeout, duration((step.timeoutSeconds ?? 0) * 1000));
  if (step.childRunId !== null) rows.push([words.run.childRun, <RunLink key="child" runId={step.childRunId} />]);
  add(step.outputBytes > shownBytes, words.run.size, bytes(step.outputBytes));
  if (effect !== undefined) rows.push([words.run.effect, words.run.effects[effect]]);
  const decision = step.approval;
  if (decision !== null && decision.decider !== null)
    rows.push([
      words.common.status[decision.status],
      <span key="decision" className="whitespace-pre-line">
        {[visibleLine(decision.decider.name), visibleText(decision.note ?? '')]
          .filter((part) => part !== '')
          .join(' · ')}
      </span>,
    ]);
  add(isKept(step, run), words.run.origin, words.run.kept);
  return <Facts rows={rows} />;
}

function Result({ run, step, artifacts }: { run: Run; step: StepResult; artifacts: RunArtifact[] }) {
  const { words } = useLanguage();
  const errorText = useStepErrorText();
  const values = useStepValues(run, step, step.outputBytes > 0);
  const whole = values.data;
  const json = whole?.output === null || whole?.output === undefined ? null : JSON.stringify(whole.output);
  const text = whole?.outputText ?? '';
  const hasText = text !== '' && text !== json;
  return (
    <div className="flex flex-col gap-3">
      {step.error !== null && (
        <div className="rounded-(--radius-medium) bg-danger-muted px-3 py-2 text-danger">
          <p className="font-semibold">
            <code>{visibleLine(step.error.code)}</code>
          </p>
          <p dir="auto" className="wrap-anywhere whitespace-pre-line">
            {errorText(step.error, step)}
          </p>
        </div>
      )}
      {artifacts.length > 0 && <StepArtifacts run={run} artifacts={artifacts} />}
      <StepFacts run={run} step={step} />
      {step.outputBytes > 0 && !values.isOpen && (
        <LargeValueNote bytes={step.outputBytes} isBusy={values.isFetching} onOpen={values.open} />
      )}
      {values.isLoading && <Loading />}
      {values.error !== null && <LoadError error={values.error} onRetry={values.refetch} />}
      {hasText && (
        <section>
          <h3 className="mb-1">{words.run.text}</h3>
          <TextView text={text} label={words.run.text} />
        </section>
      )}
      {json !== null && (
        <section>
          <h3 className="mb-1">{words.run.output}</h3>
          <JsonValueView value={whole?.output} label={words.run.output} />
        </section>
      )}
    </div>
  );
}

function StepInput({ run, step }: { run: Run; step: StepResult }) {
  const { words } = useLanguage();
  const values = useStepValues(run, step, true);
  if (step.status === 'pending' || step.status === 'skipped')
    return <p className="text-text-muted">{words.run.noInputYet}</p>;
  if (!values.isOpen)
    return <LargeValueNote bytes={step.outputBytes} isBusy={values.isFetching} onOpen={values.open} />;
  if (values.error !== null) return <LoadError error={values.error} onRetry={values.refetch} />;
  if (values.data === undefined) return <Loading />;
  if (values.data.inputOmitted) return <p className="text-text-muted">{words.run.inputOmitted}</p>;
  if (values.data.input === null) return <p className="text-text-muted">{words.run.noInput}</p>;
  return <JsonValueView value={values.data.input} label={words.run.input} />;
}

function Turns({ run, step }: { run: Run; step: StepResult }) {
  const values = useStepValues(run, step, step.finishedAt !== null);
  const live = useLiveTurns(run.id, step);
  const whole =
    values.error !== null ? (
      <LoadError error={values.error} onRetry={values.refetch} />
    ) : values.isOpen ? (
      <Loading />
    ) : (
      <LargeValueNote bytes={step.outputBytes} isBusy={values.isFetching} onOpen={values.open} />
    );
  // The hub stores a step with its first turn, so the step that is next is already running.
  const isNext = run.status === 'running' && run.stepsResultJson.find(({ finishedAt }) => finishedAt === null) === step;
  const isRunning = step.startedAt === null ? isNext : step.finishedAt === null;
  return <AgentTurnList step={values.data ?? step} isRunning={isRunning} live={live} whole={whole} />;
}

/** Everything about the selected step. */
export function Inspector({
  run,
  step,
  artifacts,
  tab,
  onTab,
  place,
  onPlace,
  isSheetOpen,
  onClose,
}: {
  run: Run;
  step: StepResult;
  artifacts: RunArtifact[];
  tab: InspectorTab;
  onTab: (tab: InspectorTab) => void;
  place: LogPlace;
  onPlace: (place: LogPlace) => void;
  /** Whether it is shown on phones, where it covers the lower part of the page. */
  isSheetOpen: boolean;
  onClose: () => void;
}) {
  const { words, format } = useLanguage();
  const stepName = useStepName();
  const isAgent = step.type === 'agent';
  const shown = tab === 'turns' && !isAgent ? 'result' : tab;
  const tabs: { name: InspectorTab; label: ReactNode }[] = [
    { name: 'result', label: words.run.result },
    ...(isAgent ? [{ name: 'turns' as const, label: words.run.turns }] : []),
    { name: 'input', label: words.run.input },
    { name: 'logs', label: words.run.logs },
    {
      name: 'attempts',
      label: step.attempts > 1 ? format(words.run.attemptsCount, { count: step.attempts }) : words.run.attempts,
    },
  ];
  return (
    <aside
      aria-label={words.run.selectedStep}
      className={`min-w-0 rounded-(--radius-large) border bg-surface p-4 max-lg:fixed max-lg:inset-x-0 max-lg:bottom-0 max-lg:z-10 max-lg:max-h-[70dvh] max-lg:overflow-y-auto max-lg:rounded-b-none max-lg:shadow-large lg:sticky lg:top-4 lg:max-h-[calc(100dvh-2rem)] lg:self-start lg:overflow-y-auto ${isSheetOpen ? '' : 'max-lg:hidden'}`}
    >
      <div className="mb-2 flex items-center gap-2.5">
        <h2 className="min-w-0 wrap-anywhere">{stepName(step)}</h2>
        <StatusPill status={step.status} />
        <IconButton label={words.common.close} className="ms-auto lg:hidden" onClick={onClose}>
          <X size={18} aria-hidden />
        </IconButton>
      </div>
      <Tabs label={words.run.selectedStep} tabs={tabs} selected={shown} onSelect={onTab} />
      {shown === 'result' && <Result run={run} step={step} artifacts={artifacts} />}
      {shown === 'turns' && <Turns key={step.index} run={run} step={step} />}
      {shown === 'input' && <StepInput run={run} step={step} />}
      {shown === 'logs' && <RunLogs key={step.index} run={run} step={step} place={place} onPlace={onPlace} />}
      {shown === 'attempts' && <StepAttempts step={step} />}
    </aside>
  );
}
