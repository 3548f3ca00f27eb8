import { useInfiniteQuery } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { visibleLine } from '../../../../../../shared/visible-text.ts';
import { useWords } from '../../../app/language.tsx';
import { useNow } from '../../../app/now.ts';
import { useIsAdmin, useSession, useTenantId } from '../../../app/session.tsx';
import { Button } from '../../../ui/button.tsx';
import { Cell, Row, Table } from '../../../ui/table.tsx';
import { RelativeTime } from '../../../ui/time.tsx';
import { MemberPicture } from '../parts/member-picture.tsx';
import { Note } from '../parts/note.tsx';
import { PagedRows } from '../parts/paged-rows.tsx';
import { AddMember } from './add-member.tsx';
import { InvitationList } from './invitation-list.tsx';
import { InviteMember } from './invite-member.tsx';
import { memberList } from './member.ts';
import type { Member } from './member.ts';
import { RemoveMember } from './remove-member.tsx';
import { RoleChoice } from './role-choice.tsx';

const rememberedMs = 180 * 24 * 60 * 60 * 1000;

function MemberRow({ member, onRemove }: { member: Member; onRemove: () => void }) {
  const { common, settings } = useWords();
  const isAdmin = useIsAdmin();
  const { user } = useSession();
  const now = useNow();
  const email = visibleLine(member.email);
  return (
    <Row>
      <Cell label="">
        <span className="flex items-center gap-2.5">
          <MemberPicture person={member} />
          <span className="min-w-40 wrap-anywhere">
            <span className="block font-semibold">
              {member.displayName === null ? email : visibleLine(member.displayName)}
              {member.id === user.id && <span className="font-normal text-text-muted"> ({settings.members.you})</span>}
            </span>
            {member.displayName !== null && <span className="block text-sm text-text-muted">{email}</span>}
          </span>
        </span>
      </Cell>
      <Cell label={settings.members.role}>{isAdmin ? <RoleChoice member={member} /> : common.roles[member.role]}</Cell>
      {isAdmin && (
        <Cell label={settings.members.lastSignIn} className="whitespace-nowrap">
          {typeof member.lastSignInAt === 'string' ? (
            <RelativeTime at={member.lastSignInAt} />
          ) : (
            <span className="text-text-muted">
              {
                // The hub forgets a sign-in after half a year, so a newer member never signed in.
                Date.parse(member.createdAt) > now - rememberedMs
                  ? settings.members.neverSignedIn
                  : settings.members.noSignIn
              }
            </span>
          )}
        </Cell>
      )}
      <Cell label={settings.members.added} className="whitespace-nowrap">
        <RelativeTime at={member.createdAt} />
      </Cell>
      {isAdmin && (
        <Cell label="" className="text-end">
          <Button size="small" variant="quiet" aria-label={`${settings.members.remove} ${email}`} onClick={onRemove}>
            {settings.members.remove}
          </Button>
        </Cell>
      )}
    </Row>
  );
}

export function MembersSection() {
  const { settings } = useWords();
  const words = settings.members;
  const isAdmin = useIsAdmin();
  const tenantId = useTenantId();
  const [open, setOpen] = useState<'invite' | 'add' | null>(null);
  const [removed, setRemoved] = useState<Member | null>(null);
  const list = useInfiniteQuery(memberList(tenantId));
  return (
    <>
      {isAdmin ? (
        <div className="mb-3 flex flex-wrap justify-end gap-2">
          <Button onClick={() => setOpen('add')}>{words.addWithPassword}</Button>
          <Button variant="primary" onClick={() => setOpen('invite')}>
            <Plus size={16} aria-hidden />
            {words.invite}
          </Button>
        </div>
      ) : (
        <Note>{words.adminsManage}</Note>
      )}
      <PagedRows list={list} operation="listMembers" empty={null}>
        {(members) => (
          <Table
            isStacked
            head={[
              words.member,
              words.role,
              ...(isAdmin ? [words.lastSignIn] : []),
              words.added,
              ...(isAdmin ? [<span className="sr-only">{settings.actions}</span>] : []),
            ]}
          >
            {members.map((member) => (
              <MemberRow key={member.id} member={member} onRemove={() => setRemoved(member)} />
            ))}
          </Table>
        )}
      </PagedRows>
      {isAdmin && <InvitationList />}
      {open === 'invite' && <InviteMember onClose={() => setOpen(null)} />}
      {open === 'add' && <AddMember onClose={() => setOpen(null)} />}
      {removed !== null && <RemoveMember member={removed} onClose={() => setRemoved(null)} />}
    </>
  );
}
