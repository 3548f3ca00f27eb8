import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { visibleLine } from '../../../../../../shared/visible-text.ts';
import { useAction } from '../../../app/api.ts';
import { useLanguage } from '../../../app/language.tsx';
import { reread } from '../../../app/live-updates.tsx';
import { useTenantId } from '../../../app/session.tsx';
import { Button } from '../../../ui/button.tsx';
import { Confirm, Dialog } from '../../../ui/dialog.tsx';
import { TextLink } from '../../../ui/layout.tsx';
import { CheckRow } from '../parts/controls.tsx';
import type { Member } from './member.ts';

/** Removes a member, and then names the keys that the member may know. */
export function RemoveMember({ member, onClose }: { member: Member; onClose: () => void }) {
  const { words, format } = useLanguage();
  const { common, settings } = words;
  const tenantId = useTenantId();
  const cache = useQueryClient();
  const [revokesKeys, setRevokesKeys] = useState(false);
  const email = visibleLine(member.email);
  const remove = useAction('removeMember', { onDone: () => reread(cache, ['listMembers', 'listApiTokens']) });
  if (remove.data !== undefined) {
    const { keys } = remove.data;
    return (
      <Dialog title={format(settings.members.removedTitle, { email })} onClose={onClose}>
        {keys.length === 0 ? (
          <p className="text-text-muted">{settings.members.noKeys}</p>
        ) : (
          <>
            <p className="text-text-muted">{settings.members.knownKeys}</p>
            <ul className="mt-2 list-disc ps-5">
              {keys.map((key) => (
                <li key={key.id} className="wrap-anywhere">
                  {visibleLine(key.name)} <code>{visibleLine(key.keyHint)}</code>:{' '}
                  {key.revoked ? settings.members.keyRevoked : settings.members.keyValid}
                </li>
              ))}
            </ul>
            <p className="mt-2">
              <TextLink to="/settings/{-$section}" params={{ section: 'tokens' }}>
                {settings.sections.tokens.title}
              </TextLink>
            </p>
          </>
        )}
        <div className="mt-4 flex justify-end">
          <Button variant="primary" onClick={onClose}>
            {common.done}
          </Button>
        </div>
      </Dialog>
    );
  }
  return (
    <Confirm
      title={format(settings.members.removeTitle, { email })}
      confirm={settings.members.remove}
      action={remove}
      onConfirm={() =>
        remove.start({
          params: { tenantId, userId: member.id },
          query: { revokeKeys: revokesKeys ? 'true' : 'false' },
        })
      }
      onClose={onClose}
    >
      <p>{settings.members.removeText}</p>
      <CheckRow
        label={settings.members.revokeKeys}
        hint={settings.members.revokeKeysHint}
        isChecked={revokesKeys}
        onChange={setRevokesKeys}
      />
    </Confirm>
  );
}
