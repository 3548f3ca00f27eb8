import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useAction } from '../../../app/api.ts';
import type { Answer } from '../../../app/api.ts';
import { useWords } from '../../../app/language.tsx';
import { reread } from '../../../app/live-updates.tsx';
import { fieldErrors } from '../../../forms/field-errors.ts';
import { Button } from '../../../ui/button.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { ErrorNote } from '../../../ui/error.tsx';
import { ChoiceField, NumberField, TextField } from '../parts/controls.tsx';

type Trunk = Answer<'getSipStatus'>;

/** Sets the account at the carrier and registers. An empty password keeps the stored one. */
export function TrunkForm({ trunk, onClose }: { trunk: Trunk; onClose: () => void }) {
  const { common, settings } = useWords();
  const words = settings.carriers;
  const cache = useQueryClient();
  const [host, setHost] = useState(trunk?.host ?? '');
  const [port, setPort] = useState(trunk?.port ?? null);
  const [username, setUsername] = useState(trunk?.username ?? '');
  const [password, setPassword] = useState('');
  const [transport, setTransport] = useState(trunk?.transport ?? 'tls');
  const register = useAction('registerOwnTrunk', {
    onDone: () => {
      reread(cache, ['getSipStatus', 'getHostedSip']);
      onClose();
    },
  });
  const errorOf = fieldErrors(register.error);
  return (
    <Dialog title={trunk === null ? words.setTrunk : words.changeTrunk} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          register.start({
            body: {
              host: host.trim(),
              username: username.trim(),
              transport,
              ...(port === null ? {} : { port }),
              ...(password === '' ? {} : { password }),
            },
          });
        }}
      >
        <TextField
          label={words.host}
          hint={words.hostHint}
          required
          maxLength={253}
          value={host}
          error={errorOf('host')}
          onChange={setHost}
        />
        <NumberField
          label={words.port}
          hint={words.portHint}
          isOptional
          min={1}
          max={65_535}
          value={port}
          error={errorOf('port')}
          onChange={setPort}
        />
        <ChoiceField
          label={words.transport}
          value={transport}
          choices={[
            ['tls', words.transports.tls],
            ['tcp', words.transports.tcp],
            ['udp', words.transports.udp],
          ]}
          error={errorOf('transport')}
          onChange={setTransport}
        />
        <TextField
          label={words.username}
          required
          maxLength={128}
          autoComplete="off"
          value={username}
          error={errorOf('username')}
          onChange={setUsername}
        />
        <TextField
          label={words.password}
          hint={trunk === null ? undefined : words.passwordHint}
          type="password"
          autoComplete="off"
          required={trunk === null}
          isOptional={trunk !== null}
          maxLength={256}
          value={password}
          error={errorOf('password')}
          onChange={setPassword}
        />
        <ErrorNote error={register.error} />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button variant="primary" type="submit" isBusy={register.isPending}>
            {words.register}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
