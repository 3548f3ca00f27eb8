import { useInfiniteQuery } from '@tanstack/react-query';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { pagedQuery } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { CreateByApi } from '../../ui/create-by-api.tsx';
import { Card, Empty, Page, TextLink } from '../../ui/layout.tsx';
import { PagedList } from '../../ui/paged-list.tsx';
import { Cell, Row, Table } from '../../ui/table.tsx';
import { RelativeTime } from '../../ui/time.tsx';

/** All AI agents of the workspace. */
export function AgentsPage() {
  const { words } = useLanguage();
  const texts = words.agents;
  const list = useInfiniteQuery(pagedQuery('listAutomationAgents', { query: { limit: 50 } }));
  return (
    <Page title={words.common.agents}>
      <Card>
        <PagedList
          of={list}
          empty={
            <Empty title={texts.empty}>
              <p>{texts.emptyText}</p>
              <CreateByApi path="/v1/automations/agents" />
            </Empty>
          }
        >
          {(rows) => (
            <Table head={[texts.name, texts.model, texts.routes, texts.changed]}>
              {rows.map(({ id, name, model, routeKeys, updatedAt }) => (
                <Row key={id}>
                  <Cell>
                    <TextLink to="/agents/$agentId" params={{ agentId: id }}>
                      {visibleLine(name)}
                    </TextLink>
                  </Cell>
                  <Cell>{model === null ? texts.anyModel : visibleLine(model)}</Cell>
                  <Cell className="max-w-64 truncate">{visibleLine(routeKeys.join(', ')) || texts.none}</Cell>
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
