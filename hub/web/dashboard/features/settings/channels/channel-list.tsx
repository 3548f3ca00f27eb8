import { useInfiniteQuery } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { visibleLine } from '../../../../../../shared/visible-text.ts';
import { pagedQuery } from '../../../app/api.ts';
import { useWords } from '../../../app/language.tsx';
import { useIsAdmin } from '../../../app/session.tsx';
import { Button } from '../../../ui/button.tsx';
import { Empty, TextLink } from '../../../ui/layout.tsx';
import { StatusPill } from '../../../ui/status.tsx';
import { Cell, Row, Table } from '../../../ui/table.tsx';
import { RelativeTime } from '../../../ui/time.tsx';
import { Note } from '../parts/note.tsx';
import { PagedRows } from '../parts/paged-rows.tsx';
import { CreateChannel } from './create-channel.tsx';

const pageRows = 25;

export function ChannelList() {
  const { common, settings } = useWords();
  const words = settings.channels;
  const isAdmin = useIsAdmin();
  const [isCreating, setCreating] = useState(false);
  const list = useInfiniteQuery(pagedQuery('listAutomationChannels', { query: { limit: pageRows } }));
  return (
    <>
      {isAdmin ? (
        <div className="mb-3 flex justify-end">
          <Button variant="primary" onClick={() => setCreating(true)}>
            <Plus size={16} aria-hidden />
            {words.create}
          </Button>
        </div>
      ) : (
        <Note>{settings.adminsChange}</Note>
      )}
      <PagedRows
        list={list}
        operation="listAutomationChannels"
        empty={<Empty title={words.empty}>{words.emptyText}</Empty>}
      >
        {(channels) => (
          <Table head={[words.name, words.provider, words.state, words.conversations, words.changed]}>
            {channels.map((channel) => (
              <Row key={channel.id}>
                <Cell className="min-w-40 wrap-anywhere">
                  <TextLink to="/settings/{-$section}" params={{ section: 'channels' }} search={{ id: channel.id }}>
                    {visibleLine(channel.name)}
                  </TextLink>
                </Cell>
                <Cell>{words.providers[channel.provider]}</Cell>
                <Cell>
                  <StatusPill status={channel.active ? 'active' : 'inactive'} />
                </Cell>
                <Cell>{channel.conversations ? common.yes : common.no}</Cell>
                <Cell className="whitespace-nowrap">
                  <RelativeTime at={channel.updatedAt} />
                </Cell>
              </Row>
            ))}
          </Table>
        )}
      </PagedRows>
      {isCreating && <CreateChannel onClose={() => setCreating(false)} />}
    </>
  );
}
