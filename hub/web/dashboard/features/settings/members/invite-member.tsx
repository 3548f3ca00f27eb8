import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { visibleLine } from '../../../../../../shared/visible-text.ts';
import { useAction } from '../../../app/api.ts';
import { useLanguage } from '../../../app/language.tsx';
import { reread } from '../../../app/live-updates.tsx';
import { useTenantId } from '../../../app/session.tsx';
import { fieldErrors } from '../../../forms/field-errors.ts';
import { FormError } from '../../../forms/form-error.tsx';
import { Button } from '../../../ui/button.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { SecretOnce } from '../parts/secret-once.tsx';
import { MemberFields } from './member-fields.tsx';
import type { NewMember } from './member-fields.tsx';

/** Creates a link with which a person joins the workspace and chooses a password. */
export function InviteMember({ onClose }: { onClose: () => void }) {
  const { words, format } = useLanguage();
  const { common, settings } = words;
  const tenantId = useTenantId();
  const cache = useQueryClient();
  const [member, setMember] = useState<NewMember>({ email: '', role: 'agent' });
  const invite = useAction('inviteMember', { onDone: () => reread(cache, ['listInvitations']) });
  const errorOf = fieldErrors(invite.error);
  if (invite.data !== undefined)
    return (
      <SecretOnce
        title={format(settings.members.invitedTitle, { email: visibleLine(invite.data.email) })}
        label={settings.members.invitationLink}
        secret={invite.data.url}
        onClose={onClose}
      >
        <p className="mt-3 text-text-muted">{settings.members.invitationText}</p>
      </SecretOnce>
    );
  return (
    <Dialog title={settings.members.invite} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          invite.start({ params: { tenantId }, body: member });
        }}
      >
        <MemberFields value={member} errorOf={errorOf} onChange={setMember} />
        <FormError error={invite.error} fields={['email', 'role']} />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button variant="primary" type="submit" isBusy={invite.isPending}>
            {settings.members.createLink}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
