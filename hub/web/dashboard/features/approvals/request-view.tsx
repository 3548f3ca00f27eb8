import type { ApprovalDetail, JsonValue } from '../../../../../shared/client/client.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { useLanguage } from '../../app/language.tsx';
import { useIsolate } from '../../ui/isolate.ts';
import { Card } from '../../ui/layout.tsx';
import { ApprovalWarning } from './approval-message.tsx';
import { End, ExactLines, ExactText, RequestField } from './exact-text.tsx';
import { callOf, interpreterOf, programOf } from './request.ts';
import type { ProgramCall } from './request.ts';

/** Longer lists are shown as JSON, which needs fewer elements. */
const listedItems = 200;

/** The fields of an input: texts and short lists of texts as lines, everything else as JSON. */
function Fields({ input }: { input: Readonly<Record<string, JsonValue>> }) {
  return Object.entries(input).map(([name, value]) => {
    const label = visibleLine(name);
    const isLines =
      Array.isArray(value) &&
      value.length > 0 &&
      value.length <= listedItems &&
      value.every((item) => typeof item === 'string');
    return (
      <RequestField key={name} name={label}>
        {typeof value === 'string' ? (
          <ExactText text={value} label={label} />
        ) : isLines ? (
          <ExactLines lines={value} label={label} start={1} />
        ) : (
          <ExactText text={JSON.stringify(value, null, 2)} label={label} />
        )}
      </RequestField>
    );
  });
}

function Program({ program }: { program: ProgramCall }) {
  const { words, duration, format } = useLanguage();
  const texts = words.approvals;
  const [name = '', ...rest] = program.argv;
  const variables = Object.entries(program.env);
  return (
    <>
      <RequestField isShort name={texts.program}>
        <ExactText text={name} label={texts.program} />
      </RequestField>
      <RequestField isShort={rest.length === 0} name={texts.arguments}>
        {rest.length === 0 ? texts.noArguments : <ExactLines lines={rest} label={texts.arguments} start={1} />}
      </RequestField>
      <RequestField isShort name={texts.folder}>
        {program.cwd === null ? texts.homeFolder : <ExactText text={program.cwd} label={texts.folder} />}
      </RequestField>
      <RequestField isShort={variables.length === 0} name={texts.variables}>
        {variables.length === 0
          ? texts.noVariables
          : variables.map(([variable, value]) => (
              <div key={variable} dir="ltr" className="flex items-baseline rtl:justify-end">
                <code className="wrap-anywhere">{visibleLine(variable)}=</code>
                <ExactText text={value} label={visibleLine(variable)} />
              </div>
            ))}
      </RequestField>
      <RequestField isShort={program.stdin === null} name={texts.stdin}>
        {program.stdin === null ? texts.noStdin : <ExactText text={program.stdin} label={texts.stdin} />}
      </RequestField>
      <RequestField isShort name={texts.timeLimit}>
        {format(texts.timeLimitText, { time: duration(program.timeoutMs) })}
      </RequestField>
      <RequestField isShort name={texts.exitCode}>
        {program.failOnExitCode ? texts.exitCodeFails : texts.exitCodePasses}
      </RequestField>
      {program.waitMs !== null && (
        <RequestField isShort name={texts.waitForNode}>
          {format(texts.waitForNodeText, { time: duration(program.waitMs) })}
        </RequestField>
      )}
      <Fields input={program.others} />
    </>
  );
}

/** What exactly runs after an approval, field by field. */
export function RequestView({ approval }: { approval: ApprovalDetail }) {
  const { words, format } = useLanguage();
  const texts = words.approvals;
  const isolate = useIsolate();
  const call = callOf(approval);
  const title =
    approval.status === 'approved'
      ? texts.wasApproved
      : approval.status !== 'pending'
        ? texts.wasRequested
        : approval.required > 1
          ? texts.ifEnough
          : texts.ifApproved;
  if (call === null) return <p className="text-text-muted">{texts.nothingBound[approval.status]}</p>;
  const program = programOf(call);
  const interpreter = program === null ? null : interpreterOf(program);
  return (
    <>
      {interpreter !== null && (
        <ApprovalWarning>{format(texts.readCode, { program: isolate(visibleLine(interpreter)) })}</ApprovalWarning>
      )}
      <Card className="p-4">
        <h2 className="mb-2.5">{title}</h2>
        <dl>
          {program === null ? (
            <>
              <RequestField name={texts.skill}>
                <ExactText text={call.skillId} label={texts.skill} />
              </RequestField>
              <Fields input={call.input} />
            </>
          ) : (
            <Program program={program} />
          )}
        </dl>
        <End />
      </Card>
    </>
  );
}
