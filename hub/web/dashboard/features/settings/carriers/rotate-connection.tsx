import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useAction } from '../../../app/api.ts';
import { useWords } from '../../../app/language.tsx';
import { reread } from '../../../app/live-updates.tsx';
import { fieldErrors } from '../../../forms/field-errors.ts';
import { Confirm } from '../../../ui/dialog.tsx';
import { showToast } from '../../../ui/toasts.tsx';
import { NumberField } from '../parts/controls.tsx';
import { SecretOnce } from '../parts/secret-once.tsx';
import { signingField } from './carriers.ts';
import type { Connection } from './carriers.ts';
import { SigningField } from './signing-field.tsx';

/** Replaces what the carrier signs with; the hub accepts the old one for some hours. */
export function RotateConnection({ connection, onClose }: { connection: Connection; onClose: () => void }) {
  const words = useWords().settings.carriers;
  const cache = useQueryClient();
  const [signing, setSigning] = useState('');
  const [hours, setHours] = useState<number | null>(24);
  const rotate = useAction('rotateCallConnection', {
    onDone: ({ secret }) => {
      reread(cache, ['getCallConnection', 'listCallConnections']);
      if (secret !== undefined) return;
      showToast(words.rotated);
      onClose();
    },
  });
  const errorOf = fieldErrors(rotate.error);
  if (rotate.data?.secret !== undefined)
    return (
      <SecretOnce title={words.rotated} label={words.secret} secret={rotate.data.secret} onClose={onClose}>
        <p className="mt-3 text-text-muted">{words.secretText}</p>
      </SecretOnce>
    );
  const field = signingField[connection.provider];
  return (
    <Confirm
      title={words.rotateTitle}
      confirm={words.rotate}
      isDangerous={false}
      action={rotate}
      onConfirm={() =>
        rotate.start({
          params: { id: connection.id },
          body: {
            ...(field === null ? {} : { [field]: signing.trim() }),
            ...(hours === null ? {} : { overlapHours: hours }),
          },
        })
      }
      onClose={onClose}
    >
      <SigningField provider={connection.provider} value={signing} errorOf={errorOf} onChange={setSigning} />
      <NumberField
        label={words.overlap}
        hint={words.overlapHint}
        min={0}
        max={168}
        value={hours}
        error={errorOf('overlapHours')}
        onChange={setHours}
      />
    </Confirm>
  );
}
