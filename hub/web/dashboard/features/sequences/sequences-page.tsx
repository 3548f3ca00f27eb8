import { useInfiniteQuery } from '@tanstack/react-query';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { pagedQuery } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { CreateByApi } from '../../ui/create-by-api.tsx';
import { Card, Empty, Page, TextLink } from '../../ui/layout.tsx';
import { PagedList } from '../../ui/paged-list.tsx';
import { Cell, Row, Table } from '../../ui/table.tsx';
import { RelativeTime } from '../../ui/time.tsx';

/** All sequences of the workspace. */
export function SequencesPage() {
  const { words, number } = useLanguage();
  const texts = words.sequences;
  const list = useInfiniteQuery(pagedQuery('listAutomationSequences', { query: { limit: 50 } }));
  return (
    <Page title={words.common.sequences}>
      <Card>
        <PagedList
          of={list}
          empty={
            <Empty title={texts.empty}>
              <p>{texts.emptyText}</p>
              <CreateByApi path="/v1/automations/sequences" />
            </Empty>
          }
        >
          {(rows) => (
            <Table head={[texts.name, texts.steps, texts.changed]}>
              {rows.map(({ id, name, steps, updatedAt }) => (
                <Row key={id}>
                  <Cell>
                    <TextLink to="/sequences/$sequenceId" params={{ sequenceId: id }}>
                      {visibleLine(name)}
                    </TextLink>
                  </Cell>
                  <Cell>{number(steps.length)}</Cell>
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
