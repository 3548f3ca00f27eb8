import type { ReactNode } from 'react';
import { visibleLine, visibleText } from '../../../../../shared/visible-text.ts';
import { useLanguage } from '../../app/language.tsx';
import { useIsolate } from '../../ui/isolate.ts';
import { JsonTree } from '../../ui/json-tree.tsx';
import { CodeBlock } from '../../ui/value.tsx';
import { ExactTime } from './clock.tsx';
import type { StepResult } from './run-model.ts';
import type { AgentTurns } from './use-live-turns.ts';

type ApiTurn = AgentTurns[number];

/** A call of a skill by the model. Only the output of the step has its input and output. */
interface ToolCall {
  skillId: string;
  status: string;
  input?: unknown;
  output?: unknown;
  error?: { code: string; message: string } | null;
}

interface Turn extends Pick<ApiTurn, 'text' | 'model' | 'latencyMs' | 'usage' | 'problems'> {
  answeredAt?: string | null;
  /** Length of the whole text, if it is cut. */
  textLength?: number;
  calls: ToolCall[];
}

/** The turns in the output of an agent step; empty if the output has none. */
function turnsOf(output: unknown): Turn[] {
  const turns = (output as { turns?: unknown } | null)?.turns;
  return Array.isArray(turns) ? (turns as Turn[]) : [];
}

function Call({ call }: { call: ToolCall }) {
  const { words } = useLanguage();
  const isFailed = call.status === 'failed';
  const states: Record<string, string> = words.run.callStatus;
  const summary = (
    <>
      <code>{visibleLine(call.skillId)}</code>{' '}
      <span className={`wrap-anywhere ${isFailed ? 'text-danger' : 'text-text-muted'}`}>
        {visibleText(call.error?.message ?? states[call.status] ?? call.status)}
      </span>
    </>
  );
  const frame = 'rounded-(--radius-medium) border px-2.5 py-1.5 text-sm';
  if (call.input === undefined) return <p className={frame}>{summary}</p>;
  return (
    <details className={frame}>
      <summary>{summary}</summary>
      <h4 className="mt-1.5 mb-1 text-xs text-text-muted">{words.run.input}</h4>
      <JsonTree value={call.input} />
      {call.output !== undefined && (
        <>
          <h4 className="mt-1.5 mb-1 text-xs text-text-muted">{words.run.output}</h4>
          <JsonTree value={call.output} />
        </>
      )}
    </details>
  );
}

function TurnItem({ turn, position }: { turn: Turn; position: number }) {
  const { words, format, duration, number } = useLanguage();
  const { turnWords: texts } = words.run;
  const isolate = useIsolate();
  const { text, textLength = 0, usage, answeredAt = null } = turn;
  return (
    <li className="flex flex-col gap-1.5">
      <h3>{format(texts.turn, { count: position })}</h3>
      <p className="text-sm text-text-muted">
        {[
          isolate(visibleLine(String(turn.model))),
          duration(turn.latencyMs),
          format(texts.tokens, { input: number(usage.inputTokens), output: number(usage.outputTokens) }),
        ].join(' · ')}
        {answeredAt !== null && (
          <>
            {' · '}
            <ExactTime at={answeredAt} />
          </>
        )}
      </p>
      {text !== '' && <CodeBlock text={text} />}
      {textLength > [...text].length && (
        <p className="text-sm text-text-muted">{format(texts.cut, { count: number(textLength) })}</p>
      )}
      {turn.calls.map((call, at) => (
        <Call key={at} call={call} />
      ))}
      {turn.problems.map((problem, at) => (
        <p key={at} className="text-sm text-danger wrap-anywhere">
          {visibleLine(problem)}
        </p>
      ))}
    </li>
  );
}

/**
 * What the model of an agent step answered, turn by turn, with the skills that it called. `live` are the turns of a
 * step in progress; `whole` is shown until an ended step is read.
 */
export function AgentTurnList({
  step,
  isRunning,
  live,
  whole,
}: {
  step: StepResult;
  isRunning: boolean;
  live: AgentTurns | null;
  whole: ReactNode;
}) {
  const { words } = useLanguage();
  const { turnWords: texts } = words.run;
  const inOutput = turnsOf(step.output);
  const ended = inOutput.length > 0 ? inOutput : step.turns;
  if (!isRunning && step.startedAt !== null && ended === null) return whole;
  const turns: Turn[] = (isRunning ? live : ended) ?? [];
  const isCalling = turns.at(-1)?.calls.some(({ status }) => status === 'pending') === true;
  return (
    <>
      {turns.length === 0 && !isRunning && <p className="text-text-muted">{texts.none}</p>}
      <ol className="flex flex-col gap-4">
        {turns.map((turn, index) => (
          <TurnItem key={index} turn={turn} position={index + 1} />
        ))}
      </ol>
      {isRunning && (
        <p role="status" className="mt-4 text-text-muted">
          {isCalling ? texts.works : texts.asks}
        </p>
      )}
    </>
  );
}
