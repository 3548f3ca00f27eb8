import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { query } from '../../../app/api.ts';
import type { Answer } from '../../../app/api.ts';
import { useLanguage } from '../../../app/language.tsx';
import { useTenantId } from '../../../app/session.tsx';
import { Select } from '../../../ui/form.tsx';
import { Section } from '../../../ui/layout.tsx';
import { Loaded } from '../../../ui/loaded.tsx';
import { Cell, Row, Table } from '../../../ui/table.tsx';
import { DayBars } from '../parts/day-bars.tsx';
import { Total } from '../parts/total.tsx';

type Totals = Answer<'getUsageTotals'>;
type Environment = Totals['days'][number]['environment'];

/** Months that the hub keeps. */
const keptMonths = 13;

/** This month and those before it, in UTC, newest first. */
function recentMonths(now: Date): string[] {
  return Array.from({ length: keptMonths }, (_, back) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)).toISOString().slice(0, 7),
  );
}

function lastDayOf(month: string): string {
  const first = new Date(`${month}-01`);
  return new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).toISOString().slice(0, 10);
}

/** Created chat sessions of each day of an environment. */
const countsOf = ({ days }: Totals, environment: Environment) =>
  new Map(days.filter((row) => row.environment === environment).map(({ day, count }) => [day, count]));

/** The number of created chat sessions of a month and of each of its days, as bars and as a table. */
export function SessionTotals() {
  const { words, number, variant } = useLanguage();
  const { common, settings } = words;
  const text = settings.usageEvents;
  const tenantId = useTenantId();
  const [months] = useState(() => recentMonths(new Date()));
  const [month, setMonth] = useState(months[0] as string);
  const totals = useQuery({
    ...query('getUsageTotals', {
      params: { tenantId },
      query: { kind: 'chat.session', from: `${month}-01`, to: lastDayOf(month) },
    }),
    placeholderData: (previous: Totals | undefined) => previous,
  });
  const monthName = new Intl.DateTimeFormat(variant, { month: 'long', year: 'numeric', timeZone: 'UTC' });
  return (
    <Section
      title={text.sessions}
      actions={
        <label className="flex items-center gap-2 text-sm">
          <span className="whitespace-nowrap">{text.month}</span>
          <Select value={month} onChange={({ target }) => setMonth(target.value)}>
            {months.map((each) => (
              <option key={each} value={each}>
                {monthName.format(new Date(`${each}-01`))}
              </option>
            ))}
          </Select>
        </label>
      }
    >
      <Loaded of={totals.error === null ? totals : { ...totals, data: undefined }}>
        {(data) => {
          const [live, test] = [countsOf(data, 'live'), countsOf(data, 'test')];
          const days = [...new Set(data.days.map(({ day }) => day))];
          const ofMonth = (environment: Environment) =>
            number(data.months.find((row) => row.environment === environment)?.count ?? 0);
          return (
            <>
              <div className="flex flex-wrap gap-x-6 gap-y-3">
                <Total label={common.live} value={ofMonth('live')} colour="bg-chart-1" />
                <Total label={common.test} value={ofMonth('test')} colour="bg-chart-2" />
              </div>
              {days.length === 0 ? (
                <p className="mt-2 text-text-muted">{text.noSessions}</p>
              ) : (
                <>
                  <DayBars
                    from={data.from}
                    to={data.to}
                    parts={[
                      { colour: 'bg-chart-2', counts: test },
                      { colour: 'bg-chart-1', counts: live },
                    ]}
                    caption={text.sessionsByDay}
                  />
                  <details className="mt-2">
                    <summary className="cursor-pointer text-sm text-accent">{text.asTable}</summary>
                    <Table isFocusable head={[settings.aiUsage.day, common.live, common.test]}>
                      {days.map((day) => (
                        <Row key={day}>
                          <Cell className="whitespace-nowrap">{day}</Cell>
                          <Cell className="tabular-nums">{number(live.get(day) ?? 0)}</Cell>
                          <Cell className="tabular-nums">{number(test.get(day) ?? 0)}</Cell>
                        </Row>
                      ))}
                    </Table>
                  </details>
                </>
              )}
            </>
          );
        }}
      </Loaded>
    </Section>
  );
}
