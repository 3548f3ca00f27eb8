import { visibleLine, visibleText } from '../../../../../shared/visible-text.ts';
import { useLanguage } from '../../app/language.tsx';
import { NodeLink, useNodeNames } from '../../ui/object-links.tsx';
import { Pill } from '../../ui/status.tsx';
import type { Tone } from '../../ui/status.tsx';
import { ExactTime } from './clock.tsx';
import type { StepResult } from './run-model.ts';

type Command = StepResult['commands'][number];

const tones: Record<Command['status'], Tone> = {
  pending: 'neutral',
  leased: 'accent',
  succeeded: 'success',
  failed: 'danger',
  withdrawn: 'neutral',
};

function CommandRow({ command, names }: { command: Command; names: ReadonlyMap<string, string> }) {
  const { words, duration } = useLanguage();
  const { createdAt, finishedAt, error, status } = command;
  return (
    <li className="rounded-(--radius-medium) border px-3 py-2 text-sm">
      <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <code>{visibleLine(command.type)}</code>
        <NodeLink nodeId={command.nodeId} names={names} />
        <Pill tone={tones[status]}>{words.run.commandStatus[status]}</Pill>
      </p>
      <p className="mt-1 text-text-muted">
        {words.run.sent} <ExactTime at={createdAt} />
        {finishedAt !== null && <> · {duration(Math.max(0, Date.parse(finishedAt) - Date.parse(createdAt)))}</>}
      </p>
      {error !== null && (
        <p className="mt-1 text-danger wrap-anywhere whitespace-pre-line">
          <code>{visibleLine(error.code)}</code> {visibleText(error.message)}
        </p>
      )}
    </li>
  );
}

type Attempt = StepResult['attemptHistory'][number];

/** One attempt: when it started, how long it took, why it failed, and its node commands. */
function AttemptSection({
  attempt: { attempt, startedAt, finishedAt, error },
  commands,
  names,
}: {
  attempt: Attempt;
  commands: readonly Command[];
  names: ReadonlyMap<string, string>;
}) {
  const { words, format, duration } = useLanguage();
  return (
    <section>
      <h3 className="mb-1">{format(words.run.attempt, { count: attempt })}</h3>
      {startedAt === null ? (
        commands.length === 0 && <p className="text-sm text-text-muted">{words.run.attemptTimesUnknown}</p>
      ) : (
        <p className="text-sm text-text-muted">
          {words.run.began} <ExactTime at={startedAt} />
          {finishedAt !== null && <> · {duration(Math.max(0, Date.parse(finishedAt) - Date.parse(startedAt)))}</>}
        </p>
      )}
      {/* The error of a command is shown with the command. */}
      {error !== null && !commands.some((command) => command.error?.code === error.code) && (
        <p className="mt-1 text-sm text-danger wrap-anywhere whitespace-pre-line">
          <code>{visibleLine(error.code)}</code> {visibleText(error.message)}
        </p>
      )}
      {commands.length > 0 && (
        <ul className="mt-1.5 flex flex-col gap-2">
          {commands.map((command) => (
            <CommandRow key={command.id} command={command} names={names} />
          ))}
        </ul>
      )}
    </section>
  );
}

/** The attempts of a step, newest first. */
export function StepAttempts({ step }: { step: StepResult }) {
  const { words, format, duration, number } = useLanguage();
  const names = useNodeNames(step.commands.length > 0);
  const { retry } = step;
  return (
    <div className="flex flex-col gap-3">
      <p className="text-text-muted">
        {step.attempts === 0 ? words.run.notStarted : format(words.run.attemptsSoFar, { count: number(step.attempts) })}
        {retry !== null &&
          ` ${format(words.run.retryPolicy, {
            max: number(retry.maxAttempts),
            time: duration(retry.backoffSeconds * 1000),
            factor: number(retry.factor),
          })}`}
      </p>
      {step.attemptHistory.toReversed().map((attempt) => (
        <AttemptSection
          key={attempt.attempt}
          attempt={attempt}
          commands={step.commands.filter(({ id }) => attempt.commandIds.includes(id))}
          names={names}
        />
      ))}
    </div>
  );
}
