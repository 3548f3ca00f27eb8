import { useInfiniteQuery } from '@tanstack/react-query';
import { pagedQuery } from '../../../app/api.ts';
import type { Answer } from '../../../app/api.ts';
import { useLanguage } from '../../../app/language.tsx';
import { useTenantId } from '../../../app/session.tsx';
import { Input, Select } from '../../../ui/form.tsx';
import { Empty } from '../../../ui/layout.tsx';
import { Pill } from '../../../ui/status.tsx';
import { Cell, Row, Table } from '../../../ui/table.tsx';
import { LocalTime } from '../../../ui/time.tsx';
import { instantOf, localInputOf } from '../parts/local-time.ts';
import { PagedRows } from '../parts/paged-rows.tsx';
import { useSettingsSearch } from '../use-settings-search.ts';
import { SessionTotals } from './session-totals.tsx';

type Kind = Answer<'listUsageEvents'>['data'][number]['kind'];
const kinds: readonly Kind[] = ['chat.session', 'ai.run'];
const pageRows = 25;

export function UsageEventsSection() {
  const { common, settings } = useLanguage().words;
  const words = settings.usageEvents;
  const tenantId = useTenantId();
  const [{ kind, from, to }, change] = useSettingsSearch();
  const filters = {
    ...(kinds.some((each) => each === kind) ? { kind: kind as Kind } : {}),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  };
  const list = useInfiniteQuery(
    pagedQuery('listUsageEvents', { params: { tenantId }, query: { ...filters, limit: pageRows } }),
  );
  return (
    <>
      <div className="mb-5">
        <SessionTotals />
      </div>
      <div className="mb-3 flex flex-wrap items-end gap-2">
        <label className="flex flex-col gap-1 text-sm font-semibold">
          {words.kind}
          <Select
            className="font-normal"
            value={filters.kind ?? ''}
            onChange={({ target }) => change({ kind: target.value })}
          >
            <option value="">{words.anyKind}</option>
            {kinds.map((each) => (
              <option key={each} value={each}>
                {words.kinds[each]}
              </option>
            ))}
          </Select>
        </label>
        {(['from', 'to'] as const).map((name) => {
          const at = name === 'from' ? from : to;
          return (
            <label key={name} className="flex flex-col gap-1 text-sm font-semibold">
              {settings.aiUsage[name]}
              <Input
                type="datetime-local"
                className="font-normal"
                value={at === undefined || Number.isNaN(Date.parse(at)) ? '' : localInputOf(new Date(at))}
                onChange={({ target }) => change({ [name]: instantOf(target.value) })}
              />
            </label>
          );
        })}
      </div>
      <PagedRows
        list={list}
        operation="listUsageEvents"
        empty={
          <Empty title={words.empty}>{Object.keys(filters).length > 0 ? words.emptyFiltered : words.emptyText}</Empty>
        }
      >
        {(events) => (
          <Table head={[words.time, words.kind, words.environment, words.subject]}>
            {events.map((event) => (
              <Row key={event.id}>
                <Cell className="whitespace-nowrap">
                  <LocalTime at={event.createdAt} />
                </Cell>
                <Cell>{words.kinds[event.kind]}</Cell>
                <Cell>
                  <Pill tone={event.environment === 'live' ? 'accent' : 'neutral'}>
                    {event.environment === 'live' ? common.live : common.test}
                  </Pill>
                </Cell>
                <Cell className="wrap-anywhere">
                  <code>{event.subjectId}</code>
                </Cell>
              </Row>
            ))}
          </Table>
        )}
      </PagedRows>
    </>
  );
}
