import { useQueryClient } from '@tanstack/react-query';
import { visibleLine } from '../../../../../../shared/visible-text.ts';
import { keyOf, query, useAction } from '../../../app/api.ts';
import type { Answer } from '../../../app/api.ts';
import { useLanguage } from '../../../app/language.tsx';
import { useIsAdmin, useTenantId } from '../../../app/session.tsx';
import { Section } from '../../../ui/layout.tsx';
import { RelativeTime } from '../../../ui/time.tsx';
import { NumberField, TextField } from '../parts/controls.tsx';
import { EditForm } from '../parts/edit-form.tsx';
import { Note } from '../parts/note.tsx';
import { useEdits } from '../parts/use-edits.ts';
import { moneyOf } from './money.ts';

type Budget = Answer<'getAiBudget'>;
const micros = 1_000_000;

const valueOf = ({ dailyTokens, dailyCost, dailySpeechSeconds, dailySpeechCharacters }: Budget) => ({
  dailyTokens,
  dailyCost,
  dailySpeechSeconds: dailySpeechSeconds as number | null,
  dailySpeechCharacters: dailySpeechCharacters as number | null,
});

/** How much of today's budget is used. */
function Used({ budget: { used, isUsedUp, resetsAt } }: { budget: Budget }) {
  const { words, number, variant, format } = useLanguage();
  const text = words.settings.aiUsage;
  const share = used.share === null ? null : Math.min(1, used.share);
  const percent = new Intl.NumberFormat(variant, { style: 'percent', maximumFractionDigits: 1 });
  return (
    <div className="mb-4">
      <p>
        {format(text.usedToday, { tokens: used.tokens })}
        {used.costs.map((cost) => ` · ${moneyOf(variant, cost)}`)}
        {used.speechSeconds > 0 && ` · ${format(text.usedSpeech, { seconds: number(used.speechSeconds) })}`}
      </p>
      {share !== null && (
        <>
          <div className="mt-1.5 h-2 rounded-full bg-surface-muted" aria-hidden>
            <div
              className={`h-2 rounded-full ${share >= 1 ? 'bg-danger' : share >= 0.8 ? 'bg-warning' : 'bg-accent'}`}
              style={{ width: `${share * 100}%` }}
            />
          </div>
          <p className="mt-1 text-sm text-text-muted">
            {format(text.usedShare, { share: percent.format(used.share ?? 0) })} · {text.resets}{' '}
            <RelativeTime at={resetsAt} />
          </p>
        </>
      )}
      {isUsedUp && <Note tone="warning">{text.usedUp}</Note>}
    </div>
  );
}

export function BudgetForm({ server }: { server: Budget }) {
  const { words, format } = useLanguage();
  const text = words.settings.aiUsage;
  const isAdmin = useIsAdmin();
  const cache = useQueryClient();
  const input = { params: { tenantId: useTenantId() } };
  const put = useAction('putAiBudget', {
    onDone: (answer) => cache.setQueryData(keyOf('getAiBudget', input), answer),
  });
  const edits = useEdits({
    current: valueOf(server),
    reload: async () => valueOf(await cache.fetchQuery({ ...query('getAiBudget', input), staleTime: 0 })),
    // Omitted speech limits do not change: the response has the lower limit of workspace and hub.
    save: ({ dailyTokens, dailyCost }, changes) => put.run({ ...input, body: { ...changes, dailyTokens, dailyCost } }),
  });
  const { dailyTokens, dailyCost, dailySpeechSeconds, dailySpeechCharacters } = edits.value;
  return (
    <EditForm
      edits={edits}
      labels={{
        dailyTokens: text.dailyTokens,
        dailyCost: text.dailyCost,
        dailySpeechSeconds: text.dailySpeechSeconds,
        dailySpeechCharacters: text.dailySpeechCharacters,
      }}
      canEdit={isAdmin}
    >
      <Section title={text.budget}>
        <Used budget={server} />
        <div className="grid gap-x-6 sm:grid-cols-2">
          <NumberField
            label={text.dailyTokens}
            hint={text.emptyNoLimit}
            min={0}
            step={1}
            value={dailyTokens}
            error={edits.errorOf('dailyTokens')}
            onChange={(value) => edits.set({ dailyTokens: value })}
          />
          <div className="flex gap-3">
            <NumberField
              label={format(text.dailyCostIn, { currency: dailyCost?.currency ?? 'USD' })}
              hint={text.emptyNoLimit}
              scale={micros}
              min={0}
              step="any"
              value={dailyCost?.micros ?? null}
              error={edits.errorOf('dailyCost.micros') ?? edits.errorOf('dailyCost')}
              onChange={(value) =>
                edits.set({
                  dailyCost: value === null ? null : { currency: dailyCost?.currency ?? 'USD', micros: value },
                })
              }
            />
            {dailyCost !== null && (
              <TextField
                label={text.currency}
                className="max-w-24"
                required
                maxLength={3}
                value={dailyCost.currency}
                error={edits.errorOf('dailyCost.currency')}
                onChange={(currency) => edits.set({ dailyCost: { ...dailyCost, currency: currency.toUpperCase() } })}
              />
            )}
          </div>
          <NumberField
            label={text.dailySpeechSeconds}
            hint={text.emptyHubLimit}
            min={0}
            step={1}
            value={dailySpeechSeconds}
            error={edits.errorOf('dailySpeechSeconds')}
            onChange={(value) => edits.set({ dailySpeechSeconds: value })}
          />
          <NumberField
            label={text.dailySpeechCharacters}
            hint={text.emptyHubLimit}
            min={0}
            step={1}
            value={dailySpeechCharacters}
            error={edits.errorOf('dailySpeechCharacters')}
            onChange={(value) => edits.set({ dailySpeechCharacters: value })}
          />
        </div>
        {server.dailyCost !== null && server.modelsWithoutCostLimit.length > 0 && (
          <Note tone="warning">
            {format(text.withoutCostLimit, {
              models: server.modelsWithoutCostLimit.map((id) => visibleLine(id)).join(', '),
            })}
          </Note>
        )}
        <p className="text-sm text-text-muted">{text.budgetText}</p>
      </Section>
    </EditForm>
  );
}
