import { useQuery } from '@tanstack/react-query';
import { visibleLine, visibleText } from '../../../../../shared/visible-text.ts';
import { keyOf, query, useAction } from '../../app/api.ts';
import type { Answer } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { useRereadOn } from '../../app/live-updates.tsx';
import { Button } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { JsonTree } from '../../ui/json-tree.tsx';
import { Section, TextLink } from '../../ui/layout.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { StatusPill } from '../../ui/status.tsx';
import { Duration } from '../../ui/time.tsx';
import { CodeBlock } from '../../ui/value.tsx';

type Run = Answer<'getAutomationRun'>;
type Artifact = Answer<'listAutomationRunArtifacts'>['data'][number];

const ends = new Set(['succeeded', 'failed', 'cancelled']);
/** Events report the end of the run. Without events, it is read again. */
const rereadMs = 2_000;

/** Pictures and sound as such, other files as links. */
function ArtifactView({ artifact }: { artifact: Artifact }) {
  const { words, bytes } = useLanguage();
  const { id, name, contentType, width, height } = artifact;
  const address = `/v1/automations/artifacts/${id}`;
  const label = visibleLine(name);
  return (
    <figure className="mb-3">
      {contentType.startsWith('image/') && (
        <a href={address} target="_blank" rel="noreferrer">
          <img
            src={address}
            alt={label}
            width={width ?? undefined}
            height={height ?? undefined}
            className="h-auto max-h-120 w-auto max-w-full rounded-(--radius-medium) border"
          />
        </a>
      )}
      {contentType.startsWith('audio/') && (
        // A recording of a machine has no captions.
        <audio controls src={address} aria-label={label} className="w-full" />
      )}
      <figcaption className="mt-1 flex flex-wrap gap-x-3 text-sm text-text-muted wrap-anywhere">
        <a className="text-accent" href={address} download={label}>
          {label}
        </a>
        <span>
          {visibleLine(contentType)} · {bytes(artifact.bytes)}
          {width !== null && height !== null && ` · ${width} × ${height}`} · {words.nodes.storedWithRun}
        </span>
      </figcaption>
    </figure>
  );
}

/** Output of a program is shown as it was written; other output as a tree. */
function Output({ output }: { output: unknown }) {
  const { words } = useLanguage();
  const { nodes } = words;
  if (output === null || output === undefined) return null;
  const { stdout, stderr, content, text, snapshot, ...rest } = output as Record<string, unknown>;
  const texts = [
    [nodes.stdout, stdout],
    [nodes.stderr, stderr],
    [nodes.fileContent, content],
    [nodes.pageText, text],
    [nodes.pageSnapshot, snapshot],
  ] as const;
  return (
    <>
      {texts.map(([label, value]) =>
        typeof value === 'string' && value !== '' ? (
          <div key={label} className="mb-3">
            <h3 className="mb-1">{label}</h3>
            <CodeBlock text={value} label={label} />
          </div>
        ) : null,
      )}
      {Object.keys(rest).length > 0 && <JsonTree value={rest} />}
    </>
  );
}

function RunState({ run }: { run: Run }) {
  const { words, format } = useLanguage();
  const { nodes } = words;
  const cancel = useAction('cancelAutomationRun');
  const approvalId = run.waitsFor?.kind === 'approval' ? run.waitsFor.approvalId : null;
  return (
    <>
      <div className="mb-3 flex flex-wrap items-center gap-x-3 gap-y-1">
        <StatusPill status={run.status} />
        {run.startedAt !== null && (
          <span className="text-text-muted">
            <Duration from={run.startedAt} to={run.finishedAt} />
          </span>
        )}
        <TextLink to="/runs/$runId" params={{ runId: run.id }}>
          {nodes.openRun}
        </TextLink>
        {!ends.has(run.status) && (
          <span className="ms-auto">
            <Button size="small" isBusy={cancel.isPending} onClick={() => cancel.start({ params: { id: run.id } })}>
              {nodes.cancelRun}
            </Button>
          </span>
        )}
      </div>
      <ErrorNote error={cancel.error} />
      {run.waitsFor?.kind === 'node_command' && (
        <p role="status" className="mb-3 text-text-muted">
          {format(
            !run.waitsFor.nodeOnline
              ? nodes.waitsForOffline
              : run.waitsFor.waitsForOwner
                ? nodes.waitsForOwner
                : nodes.waitsForMachine,
            {
              name: visibleLine(run.waitsFor.nodeName),
            },
          )}
        </p>
      )}
      {approvalId !== null && approvalId !== undefined && (
        <p role="status" className="mb-3 flex flex-wrap gap-x-3 rounded-(--radius-medium) bg-warning-muted px-3 py-2">
          {nodes.waitsForApproval}
          <TextLink to="/approvals/$approvalId" params={{ approvalId }}>
            {nodes.openApproval}
          </TextLink>
        </p>
      )}
      {run.error !== null && (
        <div role="alert" className="mb-3 rounded-(--radius-medium) bg-danger-muted px-3 py-2 text-danger">
          <p className="wrap-anywhere whitespace-pre-line">{visibleText(run.error.message)}</p>
          <p className="text-xs">
            <code>{visibleLine(run.error.code)}</code>
          </p>
        </div>
      )}
    </>
  );
}

/** The run of a command: why it waits, and its result as soon as there is one. */
export function ConsoleResult({ runId }: { runId: string }) {
  const { nodes } = useLanguage().words;
  const input = { params: { id: runId }, query: { include: 'outputs' } };
  const run = useQuery({
    ...query('getAutomationRun', input),
    refetchInterval: ({ state }) => (state.data !== undefined && ends.has(state.data.status) ? false : rereadMs),
  });
  useRereadOn((event) => event.id === runId || event.runId === runId, [keyOf('getAutomationRun', input)]);
  const step = run.data?.stepsResultJson[0];
  const artifacts = useQuery({
    ...query('listAutomationRunArtifacts', { params: { id: runId }, query: { limit: 20 } }),
    enabled: (step?.artifactIds.length ?? 0) > 0,
  });
  return (
    <Section title={nodes.result} className="min-w-0">
      <Loaded of={run}>
        {(data) => (
          <>
            <RunState run={data} />
            {artifacts.data?.data.map((artifact) => (
              <ArtifactView key={artifact.id} artifact={artifact} />
            ))}
            <Output output={step?.output} />
          </>
        )}
      </Loaded>
    </Section>
  );
}
