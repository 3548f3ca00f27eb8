import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { visibleLine } from '../../../../../../shared/visible-text.ts';
import { pagedQuery, useAction } from '../../../app/api.ts';
import type { Answer } from '../../../app/api.ts';
import { useLanguage } from '../../../app/language.tsx';
import { reread } from '../../../app/live-updates.tsx';
import { useTenantId } from '../../../app/session.tsx';
import { Button } from '../../../ui/button.tsx';
import { Confirm } from '../../../ui/dialog.tsx';
import { Cell, Row, Table } from '../../../ui/table.tsx';
import { RelativeTime } from '../../../ui/time.tsx';
import { showToast } from '../../../ui/toasts.tsx';
import { PagedRows } from '../parts/paged-rows.tsx';

type Invitation = Answer<'listInvitations'>['data'][number];

const pageRows = 25;

function RevokeInvitation({ invitation, onClose }: { invitation: Invitation; onClose: () => void }) {
  const { words, format } = useLanguage();
  const { settings } = words;
  const tenantId = useTenantId();
  const cache = useQueryClient();
  const revoke = useAction('revokeInvitation', {
    onDone: () => {
      reread(cache, ['listInvitations']);
      showToast(settings.members.revoked);
      onClose();
    },
  });
  return (
    <Confirm
      title={format(settings.members.revokeTitle, { email: visibleLine(invitation.email) })}
      confirm={settings.members.revoke}
      action={revoke}
      onConfirm={() => revoke.start({ params: { tenantId, id: invitation.id } })}
      onClose={onClose}
    >
      {settings.members.revokeText}
    </Confirm>
  );
}

/** The open invitations. Renders nothing when there are none. */
export function InvitationList() {
  const { words } = useLanguage();
  const { common, settings } = words;
  const tenantId = useTenantId();
  const [revoked, setRevoked] = useState<Invitation | null>(null);
  const list = useInfiniteQuery(pagedQuery('listInvitations', { params: { tenantId }, query: { limit: pageRows } }));
  if (list.data?.pages[0]?.data.length === 0) return null;
  return (
    <section className="mt-6">
      <h2 className="mb-2">{settings.members.invitations}</h2>
      <PagedRows list={list} operation="listInvitations" empty={null}>
        {(invitations) => (
          <Table
            isStacked
            head={[
              common.email,
              settings.members.role,
              settings.tokens.expires,
              <span className="sr-only">{settings.actions}</span>,
            ]}
          >
            {invitations.map((invitation) => (
              <Row key={invitation.id}>
                <Cell label="" className="min-w-40 wrap-anywhere">
                  {visibleLine(invitation.email)}
                </Cell>
                <Cell label={settings.members.role}>{common.roles[invitation.role]}</Cell>
                <Cell label={settings.tokens.expires} className="whitespace-nowrap">
                  <RelativeTime at={invitation.expiresAt} />
                </Cell>
                <Cell label="" className="text-end">
                  <Button
                    size="small"
                    variant="quiet"
                    aria-label={`${settings.members.revoke} ${visibleLine(invitation.email)}`}
                    onClick={() => setRevoked(invitation)}
                  >
                    {settings.members.revoke}
                  </Button>
                </Cell>
              </Row>
            ))}
          </Table>
        )}
      </PagedRows>
      {revoked !== null && <RevokeInvitation invitation={revoked} onClose={() => setRevoked(null)} />}
    </section>
  );
}
