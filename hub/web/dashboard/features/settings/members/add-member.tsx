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
import { TextField } from '../parts/controls.tsx';
import { SecretOnce } from '../parts/secret-once.tsx';
import { MemberFields } from './member-fields.tsx';
import type { NewMember } from './member-fields.tsx';

/** 20 letters and digits without those that look alike: about 115 random bits. */
const letters = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';
function newPassword(): string {
  // Larger values would make some letters likelier than others.
  const limit = 256 - (256 % letters.length);
  const characters: string[] = [];
  while (characters.length < 20)
    for (const byte of crypto.getRandomValues(new Uint8Array(32)))
      if (byte < limit && characters.length < 20) characters.push(letters.charAt(byte % letters.length));
  return characters.join('');
}

/** Adds a member with a first password, which the admin passes on. */
export function AddMember({ onClose }: { onClose: () => void }) {
  const { words, format } = useLanguage();
  const { common, settings } = words;
  const tenantId = useTenantId();
  const cache = useQueryClient();
  const [member, setMember] = useState<NewMember>({ email: '', role: 'agent' });
  const [password, setPassword] = useState(newPassword);
  const add = useAction('addMember', { onDone: () => reread(cache, ['listMembers']) });
  const errorOf = fieldErrors(add.error);
  if (add.data !== undefined)
    return (
      <SecretOnce
        title={format(settings.members.addedTitle, { email: visibleLine(add.data.email) })}
        label={settings.members.firstPassword}
        secret={password}
        onClose={onClose}
      >
        <p className="mt-3 text-text-muted">
          {format(settings.members.passItOn, { url: `${location.origin}/sign-in`, email: visibleLine(add.data.email) })}
        </p>
      </SecretOnce>
    );
  return (
    <Dialog title={settings.members.addWithPassword} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          add.start({ params: { tenantId }, body: { ...member, password } });
        }}
      >
        <MemberFields value={member} errorOf={errorOf} onChange={setMember} />
        <TextField
          label={settings.members.firstPassword}
          hint={settings.members.firstPasswordHint}
          required
          autoComplete="off"
          className="font-mono"
          value={password}
          error={errorOf('password')}
          onChange={setPassword}
        />
        <FormError error={add.error} fields={['email', 'role', 'password']} />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button variant="primary" type="submit" isBusy={add.isPending}>
            {settings.members.addWithPassword}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
