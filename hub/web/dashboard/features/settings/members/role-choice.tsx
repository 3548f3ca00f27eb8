import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { visibleLine } from '../../../../../../shared/visible-text.ts';
import { useAction } from '../../../app/api.ts';
import { useLanguage } from '../../../app/language.tsx';
import { reread } from '../../../app/live-updates.tsx';
import { useSession } from '../../../app/session.tsx';
import { Confirm } from '../../../ui/dialog.tsx';
import { Select } from '../../../ui/form.tsx';
import { showToast } from '../../../ui/toasts.tsx';
import type { Member } from './member.ts';

const otherRole = { admin: 'agent', agent: 'admin' } as const;

/** The role of a member. A change asks first: an admin can see and change everything, and may lose that. */
export function RoleChoice({ member }: { member: Member }) {
  const { words, format } = useLanguage();
  const { common, settings } = words;
  const { user, tenantId } = useSession();
  const cache = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const email = visibleLine(member.email);
  const role = otherRole[member.role];
  const change = useAction('changeMember', {
    onDone: () => {
      setAsking(false);
      showToast(format(settings.members.roleChanged, { email, role: common.roles[role] }));
      reread(cache, ['listMembers', 'readMe']);
      // The pages that this user may open are others now.
      if (member.id === user.id) location.reload();
    },
  });
  return (
    <>
      <Select
        aria-label={format(settings.members.roleOf, { email })}
        className="w-auto!"
        value={member.role}
        onChange={() => setAsking(true)}
      >
        <option value="admin">{common.roles.admin}</option>
        <option value="agent">{common.roles.agent}</option>
      </Select>
      {isAsking && (
        <Confirm
          title={format(settings.members.changeRoleTitle, { email, role: common.roles[role] })}
          confirm={settings.members.changeRole}
          isDangerous={role === 'agent'}
          action={change}
          onConfirm={() => change.start({ params: { tenantId, userId: member.id }, body: { role } })}
          onClose={() => setAsking(false)}
        >
          {settings.members.roleText[role]}
        </Confirm>
      )}
    </>
  );
}
