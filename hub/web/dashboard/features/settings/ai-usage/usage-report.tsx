import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { visibleLine } from '../../../../../../shared/visible-text.ts';
import { query } from '../../../app/api.ts';
import type { Answer } from '../../../app/api.ts';
import { useLanguage } from '../../../app/language.tsx';
import { useTenantId } from '../../../app/session.tsx';
import { Button } from '../../../ui/button.tsx';
import { Input } from '../../../ui/form.tsx';
import { Card, Empty, Section } from '../../../ui/layout.tsx';
import { Loaded } from '../../../ui/loaded.tsx';
import { Cell, Row, Table } from '../../../ui/table.tsx';
import { DayBars } from '../parts/day-bars.tsx';
import { Total } from '../parts/total.tsx';
import { useSettingsSearch } from '../use-settings-search.ts';
import { moneyOf } from './money.ts';

type Usage = Answer<'getAiUsage'>;
const firstRows = 30;
const moreRows = 100;

/** Tokens of each day. */
function tokensOf(usage: Usage): Map<string, number> {
  const tokens = new Map<string, number>();
  for (const { day, inputTokens, outputTokens } of usage.data)
    tokens.set(day, (tokens.get(day) ?? 0) + inputTokens + outputTokens);
  return tokens;
}

function UsageTable({ usage }: { usage: Usage }) {
  const { words, number, variant } = useLanguage();
  const { common, settings } = words;
  const text = settings.aiUsage;
  const [shown, setShown] = useState(firstRows);
  return (
    <Card>
      <Table isFocusable head={[text.day, text.model, text.calls, text.inputTokens, text.outputTokens, text.cost]}>
        {usage.data.slice(0, shown).map((row) => (
          <Row key={`${row.day} ${row.modelId ?? ''} ${row.model} ${row.cost?.currency ?? ''}`}>
            <Cell className="whitespace-nowrap">{row.day}</Cell>
            <Cell className="min-w-32 wrap-anywhere" note={visibleLine(row.model)}>
              {row.modelId === null ? text.hubModel : visibleLine(row.modelId)}
            </Cell>
            <Cell className="tabular-nums">
              {number(row.calls)}
              {row.failedCalls > 0 && (
                <span className="block text-sm text-danger">
                  {number(row.failedCalls)} {text.failed}
                </span>
              )}
            </Cell>
            <Cell className="tabular-nums">{number(row.inputTokens)}</Cell>
            <Cell className="tabular-nums">{number(row.outputTokens)}</Cell>
            <Cell className="tabular-nums">{row.cost === null ? common.none : moneyOf(variant, row.cost)}</Cell>
          </Row>
        ))}
      </Table>
      {usage.data.length > shown && (
        <div className="border-t px-3.5 py-2.5">
          <Button size="small" onClick={() => setShown(shown + moreRows)}>
            {common.more}
          </Button>
        </div>
      )}
    </Card>
  );
}

export function UsageReport() {
  const { words, number, variant, format } = useLanguage();
  const { settings } = words;
  const text = settings.aiUsage;
  const tenantId = useTenantId();
  const [{ from, to }, change] = useSettingsSearch();
  const usage = useQuery({
    ...query('getAiUsage', {
      params: { tenantId },
      query: { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) },
    }),
    placeholderData: (previous: Usage | undefined) => previous,
  });
  return (
    <>
      <div className="flex flex-wrap items-end gap-2">
        {(['from', 'to'] as const).map((name) => (
          <label key={name} className="flex flex-col gap-1 text-sm font-semibold">
            {text[name]}
            <Input
              type="date"
              className="font-normal"
              value={(name === 'from' ? from : to) ?? usage.data?.[name] ?? ''}
              onChange={({ target }) => change({ [name]: target.value })}
            />
          </label>
        ))}
        <p className="pb-1.5 text-sm text-text-muted">{text.utcDays}</p>
      </div>
      <Loaded of={usage.error === null ? usage : { ...usage, data: undefined }}>
        {(data) => (
          <>
            <Section title={text.total}>
              <div className="flex flex-wrap gap-x-6 gap-y-3">
                <Total
                  label={text.cost}
                  value={
                    data.totals.costs.length === 0
                      ? words.common.none
                      : data.totals.costs.map((cost) => moneyOf(variant, cost)).join(' + ')
                  }
                />
                <Total label={text.inputTokens} value={number(data.totals.inputTokens)} />
                <Total label={text.outputTokens} value={number(data.totals.outputTokens)} />
                <Total label={text.calls} value={number(data.totals.calls)} />
                <Total label={text.failedCalls} value={number(data.totals.failedCalls)} />
              </div>
              {data.totals.estimatedCalls > 0 && (
                <p className="mt-2 text-sm text-text-muted">
                  {format(text.estimated, { count: data.totals.estimatedCalls })}
                </p>
              )}
              {data.data.length > 0 && (
                <DayBars
                  from={data.from}
                  to={data.to}
                  parts={[{ colour: 'bg-chart-1', counts: tokensOf(data) }]}
                  caption={text.tokensByDay}
                />
              )}
            </Section>
            {data.data.length === 0 ? (
              <Card>
                <Empty title={text.noCalls}>{text.noCallsText}</Empty>
              </Card>
            ) : (
              <UsageTable usage={data} />
            )}
            {data.speech.length > 0 && (
              <Card>
                <Table isFocusable head={[text.day, text.speechSeconds, text.speechCharacters]}>
                  {data.speech.slice(0, moreRows).map((row) => (
                    <Row key={row.day}>
                      <Cell>{row.day}</Cell>
                      <Cell className="tabular-nums">{number(row.seconds)}</Cell>
                      <Cell className="tabular-nums">{number(row.characters)}</Cell>
                    </Row>
                  ))}
                </Table>
              </Card>
            )}
          </>
        )}
      </Loaded>
    </>
  );
}
