import type { ReactNode } from 'react';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { useLanguage } from '../../app/language.tsx';
import { JsonTree } from '../../ui/json-tree.tsx';
import { CodeBlock } from '../../ui/value.tsx';
import type { StepResult } from './run-model.ts';

/** A call of a skill by the model, as the output of the step has it. */
interface ToolCall {
  skillId: string;
  input: unknown;
  status: string;
  output?: unknown;
  error?: { code: string; message: string };
}

interface Turn {
  text: string;
  model: string;
  latencyMs: number;
  usage: { inputTokens: number; outputTokens: number };
  calls: ToolCall[];
  problems: string[];
}

/** The turns in the output of an agent step; null if the output has none. */
function turnsOf(output: unknown): Turn[] | null {
  const turns = (output as { turns?: unknown } | null)?.turns;
  return Array.isArray(turns) ? (turns as Turn[]) : null;
}

function Call({ call }: { call: ToolCall }) {
  const { words } = useLanguage();
  const isFailed = call.status === 'failed';
  return (
    <details className="rounded-(--radius-medium) border px-2.5 py-1.5">
      <summary className="text-sm">
        <code>{visibleLine(call.skillId)}</code>{' '}
        <span className={isFailed ? 'text-danger' : 'text-text-muted'}>
          {call.error === undefined ? visibleLine(call.status) : visibleLine(call.error.message)}
        </span>
      </summary>
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

/** What the model of an agent step answered, turn by turn, with the skills that it called. */
export function AgentTurns({ step, whole }: { step: StepResult; whole: ReactNode }) {
  const { words, format, duration, number } = useLanguage();
  const { turnWords: texts } = words.run;
  if (step.finishedAt === null) return <p className="text-text-muted">{texts.afterEnd}</p>;
  if (step.outputBytes === 0) return <p className="text-text-muted">{texts.none}</p>;
  if (step.output === null) return whole;
  const turns = turnsOf(step.output) ?? [];
  if (turns.length === 0) return <p className="text-text-muted">{texts.none}</p>;
  return (
    <ol className="flex flex-col gap-4">
      {turns.map((turn, index) => (
        <li key={index} className="flex flex-col gap-1.5">
          <h3>{format(texts.turn, { count: index + 1 })}</h3>
          <p className="text-sm text-text-muted">
            {[
              visibleLine(String(turn.model)),
              duration(turn.latencyMs),
              format(texts.tokens, {
                input: number(turn.usage.inputTokens),
                output: number(turn.usage.outputTokens),
              }),
            ].join(' · ')}
          </p>
          {turn.text !== '' && <CodeBlock text={turn.text} />}
          {turn.calls.map((call, at) => (
            <Call key={at} call={call} />
          ))}
          {turn.problems.map((problem, at) => (
            <p key={at} className="text-sm text-danger wrap-anywhere">
              {visibleLine(problem)}
            </p>
          ))}
        </li>
      ))}
    </ol>
  );
}
