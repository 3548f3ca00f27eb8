import { useInfiniteQuery } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { visibleLine } from '../../../../../../shared/visible-text.ts';
import { pagedQuery } from '../../../app/api.ts';
import { useWords } from '../../../app/language.tsx';
import { Button } from '../../../ui/button.tsx';
import { Empty, TextLink } from '../../../ui/layout.tsx';
import { Cell, Row, Table } from '../../../ui/table.tsx';
import { RelativeTime } from '../../../ui/time.tsx';
import { PagedRows } from '../parts/paged-rows.tsx';
import { CreateConnection } from './create-connection.tsx';

const pageRows = 25;

export function ConnectionList() {
  const words = useWords().settings.carriers;
  const [isCreating, setCreating] = useState(false);
  const list = useInfiniteQuery(pagedQuery('listCallConnections', { query: { limit: pageRows } }));
  return (
    <section>
      <div className="mb-2 flex flex-wrap items-center gap-2">
        <h2>{words.connections}</h2>
        <div className="ms-auto">
          <Button variant="primary" onClick={() => setCreating(true)}>
            <Plus size={16} aria-hidden />
            {words.create}
          </Button>
        </div>
      </div>
      <PagedRows
        list={list}
        operation="listCallConnections"
        empty={<Empty title={words.empty}>{words.emptyText}</Empty>}
      >
        {(connections) => (
          <Table head={[words.name, words.carrier, words.lastEvent]}>
            {connections.map((connection) => (
              <Row key={connection.id}>
                <Cell className="min-w-40 wrap-anywhere">
                  <TextLink to="/settings/{-$section}" params={{ section: 'carriers' }} search={{ id: connection.id }}>
                    {visibleLine(connection.name)}
                  </TextLink>
                </Cell>
                <Cell>{words.carriers[connection.provider]}</Cell>
                <Cell className="whitespace-nowrap">
                  {connection.lastEventAt === null ? (
                    <span className="text-text-muted">{words.noEvent}</span>
                  ) : (
                    <RelativeTime at={connection.lastEventAt} />
                  )}
                </Cell>
              </Row>
            ))}
          </Table>
        )}
      </PagedRows>
      {isCreating && <CreateConnection onClose={() => setCreating(false)} />}
    </section>
  );
}
