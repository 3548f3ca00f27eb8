import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Session } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { pagedQuery } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { Select } from '../../ui/form.tsx';
import { Card, Empty, Page, TextLink } from '../../ui/layout.tsx';
import { PagedList } from '../../ui/paged-list.tsx';
import { Cell, Row, Table } from '../../ui/table.tsx';
import { RelativeTime } from '../../ui/time.tsx';

type Scope = Session['scope'];

/** Sessions of workflows and channels with people. */
export function SessionsPage() {
  const { words } = useLanguage();
  const texts = words.sessions;
  const [scope, setScope] = useState<Scope | ''>('');
  const list = useInfiniteQuery(
    pagedQuery('listAutomationSessions', { query: { limit: 50, ...(scope === '' ? {} : { scope }) } }),
  );
  return (
    <Page title={words.common.sessions}>
      <div className="mb-3 max-w-56">
        <Select aria-label={texts.scope} value={scope} onChange={(event) => setScope(event.target.value as Scope | '')}>
          <option value="">{texts.allScopes}</option>
          {Object.entries(texts.scopes).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </Select>
      </div>
      <Card>
        <PagedList of={list} empty={<Empty title={texts.empty}>{texts.emptyText}</Empty>}>
          {(rows) => (
            <Table head={[texts.session, texts.scope, texts.changed]}>
              {rows.map(({ id, title, key, scope: of, environment, updatedAt }) => (
                <Row key={id}>
                  <Cell className="min-w-36 wrap-anywhere" note={title === '' ? undefined : visibleLine(key)}>
                    <TextLink to="/sessions/$sessionId" params={{ sessionId: id }}>
                      {visibleLine(title === '' ? key : title)}
                    </TextLink>
                  </Cell>
                  <Cell note={environment === 'test' ? words.common.test : undefined}>{texts.scopes[of]}</Cell>
                  <Cell>
                    <RelativeTime at={updatedAt} />
                  </Cell>
                </Row>
              ))}
            </Table>
          )}
        </PagedList>
      </Card>
    </Page>
  );
}
