import { useQuery, useQueryClient } from '@tanstack/react-query';
import { keyOf, query, useAction } from '../../../app/api.ts';
import { useLanguage } from '../../../app/language.tsx';
import { useIsAdmin } from '../../../app/session.tsx';
import { Section } from '../../../ui/layout.tsx';
import { Loaded } from '../../../ui/loaded.tsx';
import { LinesField, LongTextField, NumberField, SwitchRow } from '../parts/controls.tsx';
import { EditForm } from '../parts/edit-form.tsx';
import { useEdits } from '../parts/use-edits.ts';
import { Approvers } from './approvers.tsx';
import { ErrorWorkflow } from './error-workflow.tsx';
import type { Policy, PolicyValue } from './policy-value.ts';
import { QuietHoursFields } from './quiet-hours-fields.tsx';

const valueOf = ({ version: _version, updatedAt: _at, defaultApprovers, ...policy }: Policy): PolicyValue => ({
  ...policy,
  defaultApprovers: defaultApprovers.filter((each) => typeof each === 'string'),
});

/** Retention without a limit does not exist: the object then falls back to the retention of the hub. */
function withLimit(
  retention: PolicyValue['retention'],
  name: 'maxAgeDays' | 'maxRuns',
  value: number | null,
): PolicyValue['retention'] {
  const { [name]: _before, ...rest } = retention ?? {};
  const next = value === null ? rest : { ...rest, [name]: value };
  return Object.keys(next).length === 0 ? null : next;
}

function PolicyForm({ server }: { server: Policy }) {
  const { settings } = useLanguage().words;
  const words = settings.policy;
  const isAdmin = useIsAdmin();
  const cache = useQueryClient();
  const put = useAction('putAutomationPolicy', {
    onDone: (answer) => cache.setQueryData(keyOf('getAutomationPolicy'), answer),
  });
  let { version } = server;
  const edits = useEdits<PolicyValue>({
    current: valueOf(server),
    reload: async () => {
      const fresh = await cache.fetchQuery({ ...query('getAutomationPolicy'), staleTime: 0 });
      version = fresh.version;
      return valueOf(fresh);
    },
    save: (value) => put.run({ body: value }, version),
  });
  const { value, set, errorOf } = edits;
  return (
    <EditForm edits={edits} labels={words.labels} canEdit={isAdmin}>
      <Section title={words.approvals}>
        <Approvers
          value={value.defaultApprovers}
          onChange={(defaultApprovers) => set({ defaultApprovers })}
          error={errorOf('defaultApprovers')}
        />
        <LinesField
          label={words.labels.approvalsRequiredFor}
          hint={words.requiredHint}
          isOptional
          value={value.approvalsRequiredFor}
          error={errorOf('approvalsRequiredFor')}
          onChange={(approvalsRequiredFor) => set({ approvalsRequiredFor })}
        />
        <SwitchRow
          label={words.labels.stepApprovalsNeedPerson}
          hint={words.needPersonHint}
          isOn={value.stepApprovalsNeedPerson}
          isDisabled={!isAdmin}
          onChange={(stepApprovalsNeedPerson) => set({ stepApprovalsNeedPerson })}
        />
        <SwitchRow
          label={words.labels.soleMemberMayDecideOwnRuns}
          hint={words.soleMemberHint}
          isOn={value.soleMemberMayDecideOwnRuns}
          isDisabled={!isAdmin}
          onChange={(soleMemberMayDecideOwnRuns) => set({ soleMemberMayDecideOwnRuns })}
        />
      </Section>
      <Section title={words.starts}>
        <QuietHoursFields
          hours={value.quietHours}
          onChange={(quietHours) => set({ quietHours })}
          errorOf={errorOf}
          canEdit={isAdmin}
        />
        <NumberField
          label={words.labels.maxRunsPerHour}
          hint={words.maxRunsHint}
          isOptional
          min={1}
          value={value.maxRunsPerHour}
          error={errorOf('maxRunsPerHour')}
          onChange={(maxRunsPerHour) => set({ maxRunsPerHour })}
        />
      </Section>
      <Section title={words.failures}>
        <ErrorWorkflow
          value={value.errorWorkflowId}
          onChange={(errorWorkflowId) => set({ errorWorkflowId })}
          error={errorOf('errorWorkflowId')}
        />
      </Section>
      <Section title={words.agents}>
        <LongTextField
          label={words.labels.standingOrders}
          data-keep="standing orders"
          hint={words.ordersHint}
          isOptional
          rows={5}
          maxLength={20_000}
          value={value.standingOrders}
          error={errorOf('standingOrders')}
          onChange={(standingOrders) => set({ standingOrders })}
        />
      </Section>
      <Section title={words.labels.retention}>
        <p className="mb-3 text-text-muted">{words.retentionText}</p>
        <div className="grid gap-x-4 sm:grid-cols-2">
          <NumberField
            label={words.maxAge}
            unit={settings.daysUnit}
            isOptional
            min={1}
            max={3650}
            value={value.retention?.maxAgeDays ?? null}
            error={errorOf('retention.maxAgeDays')}
            onChange={(days) => set({ retention: withLimit(value.retention, 'maxAgeDays', days) })}
          />
          <NumberField
            label={words.maxRuns}
            isOptional
            min={1}
            value={value.retention?.maxRuns ?? null}
            error={errorOf('retention.maxRuns')}
            onChange={(runs) => set({ retention: withLimit(value.retention, 'maxRuns', runs) })}
          />
        </div>
      </Section>
    </EditForm>
  );
}

export function PolicySection() {
  const policy = useQuery(query('getAutomationPolicy'));
  return <Loaded of={policy}>{(server) => <PolicyForm server={server} />}</Loaded>;
}
