import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { visibleLine } from '../../../../../../shared/visible-text.ts';
import { pagedQuery, useAction } from '../../../app/api.ts';
import type { Answer } from '../../../app/api.ts';
import { useLanguage } from '../../../app/language.tsx';
import { reread } from '../../../app/live-updates.tsx';
import { useNow } from '../../../app/now.ts';
import { useTenantId } from '../../../app/session.tsx';
import { Button } from '../../../ui/button.tsx';
import { Confirm } from '../../../ui/dialog.tsx';
import { Empty } from '../../../ui/layout.tsx';
import { Pill } from '../../../ui/status.tsx';
import { Cell, Row, Table } from '../../../ui/table.tsx';
import { RelativeTime } from '../../../ui/time.tsx';
import { showToast } from '../../../ui/toasts.tsx';
import { PagedRows } from '../parts/paged-rows.tsx';
import { CreateToken } from './create-token.tsx';

type Token = Answer<'listApiTokens'>['data'][number];

const pageRows = 25;

function TokenRow({ token, onDelete }: { token: Token; onDelete: () => void }) {
  const { words } = useLanguage();
  const { common, settings } = words;
  const now = useNow();
  const isExpired = token.expiresAt !== null && Date.parse(token.expiresAt) <= now;
  return (
    <Row>
      <Cell label="" className="min-w-40 wrap-anywhere" note={<code>{visibleLine(token.keyHint)}</code>}>
        <span className="font-semibold">{visibleLine(token.name)}</span>
      </Cell>
      <Cell
        label={settings.tokens.access}
        note={
          <>
            {token.permissions.join(', ')}
            {token.ipAllowlist.length > 0 && (
              <span className="block wrap-anywhere">{token.ipAllowlist.join(', ')}</span>
            )}
          </>
        }
        className="min-w-48"
      >
        <span className="inline-flex flex-wrap items-center gap-2">
          {settings.tokens.products[token.product]}
          <Pill tone={token.environment === 'live' ? 'accent' : 'neutral'}>
            {token.environment === 'live' ? common.live : common.test}
          </Pill>
        </span>
      </Cell>
      <Cell label={settings.tokens.lastUsed} className="whitespace-nowrap">
        {token.lastUsedAt === null ? (
          <span className="text-text-muted">{settings.tokens.neverUsed}</span>
        ) : (
          <RelativeTime at={token.lastUsedAt} />
        )}
      </Cell>
      <Cell label={settings.tokens.expires} className="whitespace-nowrap">
        {token.expiresAt === null ? (
          <span className="text-text-muted">{settings.tokens.never}</span>
        ) : isExpired ? (
          <Pill tone="danger">{common.status.expired}</Pill>
        ) : (
          <RelativeTime at={token.expiresAt} />
        )}
      </Cell>
      <Cell label="" className="text-end">
        <Button
          size="small"
          variant="quiet"
          aria-label={`${common.delete} ${visibleLine(token.name)}`}
          onClick={onDelete}
        >
          {common.delete}
        </Button>
      </Cell>
    </Row>
  );
}

function DeleteToken({ token, onClose }: { token: Token; onClose: () => void }) {
  const { words, format } = useLanguage();
  const { settings } = words;
  const tenantId = useTenantId();
  const cache = useQueryClient();
  const remove = useAction('deleteApiToken', {
    onDone: () => {
      reread(cache, ['listApiTokens']);
      showToast(settings.tokens.deleted);
      onClose();
    },
  });
  return (
    <Confirm
      title={format(settings.tokens.deleteTitle, { name: visibleLine(token.name) })}
      confirm={settings.tokens.deleteToken}
      action={remove}
      onConfirm={() => remove.start({ params: { tenantId, id: token.id } })}
      onClose={onClose}
    >
      {settings.tokens.deleteText}
    </Confirm>
  );
}

export function TokensSection() {
  const { settings } = useLanguage().words;
  const words = settings.tokens;
  const tenantId = useTenantId();
  const [isCreating, setCreating] = useState(false);
  const [deleted, setDeleted] = useState<Token | null>(null);
  const list = useInfiniteQuery(pagedQuery('listApiTokens', { params: { tenantId }, query: { limit: pageRows } }));
  const create = (
    <Button variant="primary" onClick={() => setCreating(true)}>
      <Plus size={16} aria-hidden />
      {words.create}
    </Button>
  );
  return (
    <>
      <div className="mb-3 flex justify-end">{create}</div>
      <PagedRows list={list} operation="listApiTokens" empty={<Empty title={words.empty}>{words.emptyText}</Empty>}>
        {(tokens) => (
          <Table
            isStacked
            head={[
              words.name,
              words.access,
              words.lastUsed,
              words.expires,
              <span className="sr-only">{settings.actions}</span>,
            ]}
          >
            {tokens.map((token) => (
              <TokenRow key={token.id} token={token} onDelete={() => setDeleted(token)} />
            ))}
          </Table>
        )}
      </PagedRows>
      {isCreating && <CreateToken onClose={() => setCreating(false)} />}
      {deleted !== null && <DeleteToken token={deleted} onClose={() => setDeleted(null)} />}
    </>
  );
}
