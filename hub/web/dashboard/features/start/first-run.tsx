import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Node } from '../../../../../shared/client/client.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { background } from '../../../../../shared/web/background.ts';
import { query, useAction } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { Button } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { useIsolate } from '../../ui/isolate.ts';
import { CommandLine } from './command-line.tsx';
import { FirstResult } from './first-result.tsx';
import { canCapture, firstWorkflow } from './first-workflow.ts';
import { companionCommand } from './pairing-command.ts';

/** What the owner allows changes without an event, so the node is read again. */
const rereadNodeMs = 4_000;

/** How to get a picture of a machine that takes none now, or why it cannot take one although its owner allows it. */
function PictureHint({ node: { device } }: { node: Node }) {
  const { start: texts } = useLanguage().words;
  const screen = device?.powers?.screen;
  if (screen?.isAllowed !== true)
    return (
      <div className="mb-3">
        <p className="mb-1 text-sm text-text-muted">{texts.allowHint}</p>
        <CommandLine line={`${companionCommand} allow screen`} label={texts.allowHint} />
      </div>
    );
  const { state, detail, remedy } = screen.system;
  // The companion reports the command that takes pictures a moment later.
  if (state === 'granted' || state === 'unknown') return null;
  return (
    <div className="mb-3 text-sm text-text-muted">
      <p>{state === 'denied' ? texts.screenDenied : texts.screenMissing}</p>
      {detail !== '' && (
        <p className="wrap-anywhere">
          <bdi>{visibleLine(detail)}</bdi>
        </p>
      )}
      {remedy !== null && (
        <>
          <p className="mb-1 wrap-anywhere">
            <bdi>{visibleLine(remedy.text)}</bdi>
          </p>
          {remedy.command !== null && <CommandLine line={remedy.command} label={visibleLine(remedy.text)} />}
        </>
      )}
    </div>
  );
}

/** Says what a first workflow will do on a machine, runs it, and shows its result. */
export function FirstRun({ node: paired, onSucceeded }: { node: Node; onSucceeded: () => void }) {
  const { words, format } = useLanguage();
  const texts = words.start;
  const isolate = useIsolate();
  const [workflowId, setWorkflowId] = useState<string | null>(null);
  const [runId, setRunId] = useState<string | null>(null);
  const { data: node = paired } = useQuery({
    ...query('getAutomationNode', { params: { id: paired.id } }),
    refetchInterval: ({ state: { data } }) => (runId === null && !canCapture(data ?? paired) ? rereadNodeMs : false),
  });
  const create = useAction('createAutomationWorkflow');
  const run = useAction('runAutomationWorkflow');
  const name = visibleLine(node.name);
  const start = async () => {
    // A second attempt does not create a second workflow.
    const id =
      workflowId ?? (await create.run({ body: firstWorkflow(node, format(texts.workflowName, { name }), texts) })).id;
    setWorkflowId(id);
    const started = await run.run({ params: { id } });
    if ('runId' in started) setRunId(started.runId);
  };
  // The failure is in `error`.
  const startNow = () => background(start().catch(() => undefined));
  const error = create.error ?? run.error;
  if (runId !== null)
    return (
      <>
        <ErrorNote error={error} />
        <FirstResult key={runId} runId={runId} nodeName={name} onAgain={startNow} onSucceeded={onSucceeded} />
      </>
    );
  return (
    <>
      <p className="mb-1">{format(texts.willHappen, { name: isolate(name) })}:</p>
      <ol className="mb-2 list-decimal ps-5">
        <li>{texts.willPing}</li>
        <li>{canCapture(node) ? texts.willCapture : texts.willList}</li>
      </ol>
      <p className="mb-3 text-text-muted">{texts.willNotChange}</p>
      {!canCapture(node) && <PictureHint node={node} />}
      <ErrorNote error={error} />
      <Button variant="primary" isBusy={create.isPending || run.isPending} onClick={startNow}>
        {texts.create}
      </Button>
    </>
  );
}
