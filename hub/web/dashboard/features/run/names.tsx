import { useQuery } from '@tanstack/react-query';
import { visibleLine, visibleText } from '../../../../../shared/visible-text.ts';
import { query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { useIsAdmin, useSession, useTenantId } from '../../app/session.tsx';
import { useIsolate } from '../../ui/isolate.ts';
import { RunLink } from '../../ui/object-links.tsx';
import type { Run, StepResult } from './run-model.ts';

/** The name of a step as its author wrote it, else what it does. */
export function useStepName(): (step: StepResult) => string {
  const { words } = useLanguage();
  const types: Record<string, string> = words.run.stepTypes;
  return ({ name, id, skillId, type }) => visibleLine(name ?? id ?? skillId ?? types[type] ?? type);
}

/** Why a step failed, in the language of the page if the hub wrote the error; skills and nodes write theirs in English. */
export function useStepErrorText(): (error: NonNullable<StepResult['error']>, step: StepResult | undefined) => string {
  const { words, format } = useLanguage();
  const isolate = useIsolate();
  const { rejected, rejectedWithNote, expired } = words.run.approvalErrors;
  return ({ code, message }, step) => {
    const approval = step?.approval ?? null;
    if (code === 'approval_expired' && approval?.status === 'expired') return expired;
    if (code !== 'approval_rejected' || approval?.status !== 'rejected' || approval.decider === null)
      return visibleText(message);
    const name = isolate(visibleLine(approval.decider.name));
    const note = visibleText(approval.note ?? '');
    return note === '' ? format(rejected, { name }) : format(rejectedWithNote, { name, note: isolate(note) });
  };
}

const textOf = (trigger: Run['trigger'], field: string): string | null => {
  const value = (trigger as Record<string, unknown>)[field];
  return typeof value === 'string' ? value : null;
};

/** A user or an API key, such as `user:<id>`, as the one who did something. Null for others. */
function useActor(actor: string | null): string | null {
  const { words, format } = useLanguage();
  const { user } = useSession();
  const tenantId = useTenantId();
  const isAdmin = useIsAdmin();
  const [kind, id] = actor?.split(':') ?? [];
  const members = useQuery({
    ...query('listMembers', { params: { tenantId }, query: { limit: 100 } }),
    enabled: kind === 'user' && id !== user.id,
  });
  // Only admins may list API keys.
  const tokens = useQuery({
    ...query('listApiTokens', { params: { tenantId }, query: { limit: 100 } }),
    enabled: kind === 'token' && isAdmin,
  });
  if (kind === 'user') {
    if (id === user.id) return words.run.byYou;
    const member = members.data?.data.find((each) => each.id === id);
    return member === undefined
      ? words.run.byMember
      : format(words.run.by, { name: visibleLine(member.displayName ?? member.email) });
  }
  if (kind !== 'token') return null;
  const token = tokens.data?.data.find((each) => each.id === id);
  return token === undefined ? words.run.byKey : format(words.run.byKeyNamed, { name: visibleLine(token.name) });
}

/** What started the run, and who; also who retried or replayed it. */
export function StartedBy({ run }: { run: Run }) {
  const { words, format } = useLanguage();
  const { trigger, parentRunId } = run;
  const starter = useActor(textOf(trigger, 'by'));
  const again = useActor(textOf(trigger, 'ranAgainBy'));
  const types: Record<string, string> = words.run.triggers;
  const event = textOf(trigger, 'event') ?? textOf(trigger, 'provider');
  const failedRunId = trigger.type === 'error' ? textOf(trigger, 'runId') : null;
  return (
    <>
      <span>
        {types[trigger.type] ?? visibleLine(trigger.type)}
        {event !== null && (
          <>
            {' '}
            <code>{visibleLine(event)}</code>
          </>
        )}
      </span>
      {starter !== null && <span>{starter}</span>}
      {again !== null && <span>{format(words.run.ranAgain, { by: again })}</span>}
      {parentRunId !== null && (
        <span>
          {words.run.startedByRun} <RunLink runId={parentRunId} />
        </span>
      )}
      {failedRunId !== null && (
        <span>
          {words.run.afterFailure} <RunLink runId={failedRunId} />
        </span>
      )}
    </>
  );
}
