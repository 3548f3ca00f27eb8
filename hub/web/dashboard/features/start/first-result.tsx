import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { JsonValue, Run } from '../../../../../shared/client/client.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { useRereadOn } from '../../app/live-updates.tsx';
import { Button } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { useIsolate } from '../../ui/isolate.ts';
import { TextLink } from '../../ui/layout.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { StatusPill } from '../../ui/status.tsx';
import { CommandLine } from './command-line.tsx';
import { companionCommand } from './pairing-command.ts';

const fieldsOf = (value: JsonValue | undefined): Record<string, JsonValue> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};

const outputOf = ({ stepsResultJson }: Run, stepId: string) =>
  fieldsOf(stepsResultJson.find(({ id }) => id === stepId)?.output);

/** The names in the output of a list of folders; null if the step has not run. */
function foldersOf(run: Run): string[] | null {
  const { entries } = outputOf(run, 'folders');
  if (!Array.isArray(entries)) return null;
  return entries.flatMap((entry) => {
    const { name } = fieldsOf(entry);
    return typeof name === 'string' ? [name] : [];
  });
}

function Result({ run, nodeName }: { run: Run; nodeName: string }) {
  const { words, format, duration } = useLanguage();
  const texts = words.start;
  const { latencyMs } = outputOf(run, 'ping');
  const { artifactId } = outputOf(run, 'picture');
  const folders = foldersOf(run);
  return (
    <>
      {typeof latencyMs === 'number' && <p>{format(texts.answered, { time: duration(latencyMs) })}</p>}
      {typeof artifactId === 'string' && (
        <TextLink to="/runs/$runId" params={{ runId: run.id }}>
          <img
            src={`/v1/automations/artifacts/${encodeURIComponent(artifactId)}`}
            alt={format(texts.picture, { name: nodeName })}
            className="mt-2 max-h-96 max-w-full rounded-(--radius-medium) border"
          />
        </TextLink>
      )}
      {folders !== null && folders.length > 0 && (
        <>
          <h3 className="mt-2">{texts.folders}</h3>
          <ul className="list-disc ps-5">
            {folders.map((name) => (
              <li key={name} className="wrap-anywhere">
                {visibleLine(name)}
              </li>
            ))}
          </ul>
        </>
      )}
      {folders !== null && folders.length === 0 && (
        <>
          <p className="mt-2 mb-1">{texts.noFolders}</p>
          <CommandLine line={`${companionCommand} share ~/Documents`} label={texts.noFolders} />
        </>
      )}
    </>
  );
}

/** The progress of the first run, and its result as soon as it arrives. */
export function FirstResult({
  runId,
  nodeName,
  onAgain,
  onSucceeded,
}: {
  runId: string;
  nodeName: string;
  onAgain: () => void;
  onSucceeded: () => void;
}) {
  const { words, format } = useLanguage();
  const texts = words.start;
  const isolate = useIsolate();
  const found = useQuery(query('getAutomationRun', { params: { id: runId } }));
  useRereadOn((event) => (event.type === 'run' && event.id === runId) || event.runId === runId, [['getAutomationRun']]);
  const isDone = found.data?.status === 'succeeded';
  useEffect(() => {
    if (isDone) onSucceeded();
  }, [isDone]);
  return (
    <Loaded of={found}>
      {(run) => (
        <div className="flex flex-col gap-2">
          <ul className="flex flex-col gap-1.5">
            {run.stepsResultJson.map(({ index, id, name, status }) => (
              <li key={index} className="flex flex-wrap items-center gap-2">
                <StatusPill status={status} />
                {visibleLine(name ?? id ?? '')}
              </li>
            ))}
          </ul>
          {run.waitsFor?.kind === 'approval' && (
            <p>
              {texts.needsApproval}{' '}
              <TextLink isInText to="/approvals/$approvalId" params={{ approvalId: run.waitsFor.approvalId }}>
                {texts.seeApproval}
              </TextLink>
            </p>
          )}
          {run.error !== null && <ErrorNote error={run.error.message} />}
          <div>
            <Result run={run} nodeName={nodeName} />
          </div>
          {run.status === 'succeeded' && (
            <p role="status" className="font-semibold text-success wrap-anywhere">
              {format(texts.succeeded, { name: isolate(nodeName) })}
            </p>
          )}
          <div className="flex flex-wrap items-center gap-3">
            {(run.status === 'failed' || run.status === 'cancelled') && (
              <Button onClick={onAgain}>{texts.runAgain}</Button>
            )}
            <TextLink to="/runs/$runId" params={{ runId }}>
              {texts.seeRun}
            </TextLink>
          </div>
        </div>
      )}
    </Loaded>
  );
}
