import { useQuery } from '@tanstack/react-query';
import { Check } from 'lucide-react';
import { useEffect, useState } from 'react';
import type { ReactNode } from 'react';
import type { Node } from '../../../../../shared/client/client.ts';
import { query } from '../../app/api.ts';
import { useLanguage, useWords } from '../../app/language.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/layout.tsx';
import { CommandLine } from './command-line.tsx';
import { FirstRun } from './first-run.tsx';
import { PairPanel } from './pair-panel.tsx';
import { companionCommand } from './pairing-command.ts';

const readNodes = 100;

/** A numbered step with its heading; a done one has a check mark. */
function Step({
  position,
  title,
  isDone,
  children,
}: {
  position: number;
  title: string;
  isDone: boolean;
  children?: ReactNode;
}) {
  const { number, words } = useLanguage();
  return (
    <li className="flex gap-3">
      <span
        className={`flex size-7 shrink-0 items-center justify-center rounded-full text-sm font-semibold ${isDone ? 'bg-success-muted text-success' : 'bg-accent-muted text-accent'}`}
      >
        {isDone ? <Check size={16} role="img" aria-label={words.start.stepDone} /> : number(position)}
      </span>
      <div className="min-w-0 flex-1 pt-1">
        <h3 className="text-base!">{title}</h3>
        {children !== undefined && <div className="mt-2 max-w-2xl">{children}</div>}
      </div>
    </li>
  );
}

/** Connects the first machine, or says how to start one that is offline. */
function Machine({ hasNodes, onConnected }: { hasNodes: boolean; onConnected: (node: Node) => void }) {
  const texts = useWords().start;
  const [isPairing, setPairing] = useState(!hasNodes);
  if (isPairing) return <PairPanel onConnected={onConnected} />;
  return (
    <>
      <p className="mb-1">{texts.allOffline}</p>
      <CommandLine line={`${companionCommand} run`} label={texts.allOffline} />
      <Button className="mt-3" onClick={() => setPairing(true)}>
        {texts.another}
      </Button>
    </>
  );
}

/** The first minutes of a workspace: connect a machine, run a workflow on it, see the result. */
export function StartCard({ onDismiss }: { onDismiss: () => void }) {
  const { common, start: texts } = useWords();
  const [isDone, setDone] = useState(false);
  const [connected, setConnected] = useState<Node | null>(null);
  const { data: nodes } = useQuery(query('listAutomationNodes', { query: { limit: readNodes } }));
  const online = nodes?.data.find(({ status }) => status === 'online') ?? null;
  // The machine stays the same when another one connects, or when it goes offline during the run.
  useEffect(() => {
    if (connected === null && online !== null) setConnected(online);
  }, [connected, online]);
  const node = connected ?? online;
  const hasNodes = nodes?.data.some(({ pairedAt }) => pairedAt !== null) === true;
  return (
    <Card className="mb-3.5 p-4">
      <div className="mb-3 flex flex-wrap items-start gap-2">
        <div className="min-w-0">
          <h2 className="text-lg">{texts.title}</h2>
          <p className="text-text-muted">{texts.intro}</p>
        </div>
        <Button variant={isDone ? 'primary' : 'quiet'} size="small" className="ms-auto" onClick={onDismiss}>
          {isDone ? common.done : texts.dismiss}
        </Button>
      </div>
      <ol className="flex flex-col gap-4">
        <Step position={1} title={texts.pairStep} isDone={node !== null}>
          {node === null && nodes !== undefined ? (
            <Machine hasNodes={hasNodes} onConnected={setConnected} />
          ) : undefined}
        </Step>
        <Step position={2} title={texts.runStep} isDone={isDone}>
          {node === null ? undefined : <FirstRun key={node.id} node={node} onSucceeded={() => setDone(true)} />}
        </Step>
      </ol>
    </Card>
  );
}
