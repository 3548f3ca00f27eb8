import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useAction } from '../../../app/api.ts';
import { useWords } from '../../../app/language.tsx';
import { reread } from '../../../app/live-updates.tsx';
import { useSession } from '../../../app/session.tsx';
import { fieldErrors } from '../../../forms/field-errors.ts';
import { Button } from '../../../ui/button.tsx';
import { ErrorNote } from '../../../ui/error.tsx';
import { Section } from '../../../ui/layout.tsx';
import { showToast } from '../../../ui/toasts.tsx';
import { CommandLine } from '../../start/command-line.tsx';
import { TextField } from '../parts/controls.tsx';

/** A word of a line for a shell. */
const shellWord = (word: string) =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;

const nothing = { currentPassword: '', newPassword: '', repeated: '' };

export function PasswordForm() {
  const { settings } = useWords();
  const words = settings.profile;
  const { user, workspaceName } = useSession();
  const [value, setValue] = useState(nothing);
  const [isDifferent, setDifferent] = useState(false);
  const cache = useQueryClient();
  const change = useAction('changePassword', {
    onDone: () => {
      setValue(nothing);
      // The change ends the other sessions.
      reread(cache, ['listOwnSessions']);
      showToast(words.passwordChanged);
    },
  });
  const errorOf = fieldErrors(change.error);
  if (!user.hasPassword)
    return (
      <Section title={words.password}>
        <p className="mb-2 text-text-muted">{words.noPassword}</p>
        <CommandLine line="npx outrigger link" label={words.linkCommand} />
        <p className="mt-3 mb-2 text-text-muted">{words.setPassword}</p>
        <CommandLine
          line={`npx outrigger user password --workspace ${shellWord(workspaceName)} --email ${shellWord(user.email)}`}
          label={words.passwordCommand}
        />
      </Section>
    );
  return (
    <Section title={words.password}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const { currentPassword, newPassword, repeated } = value;
          setDifferent(newPassword !== repeated);
          if (newPassword === repeated) change.start({ body: { currentPassword, newPassword } });
        }}
      >
        <p className="mb-3 text-text-muted">{words.passwordText}</p>
        {/* Password managers store the password for this user. */}
        <input type="hidden" autoComplete="username" value={user.email} readOnly />
        <div className="max-w-sm">
          <TextField
            label={words.currentPassword}
            type="password"
            autoComplete="current-password"
            required
            value={value.currentPassword}
            error={errorOf('currentPassword')}
            onChange={(currentPassword) => setValue({ ...value, currentPassword })}
          />
          <TextField
            label={words.newPassword}
            hint={words.newPasswordHint}
            type="password"
            autoComplete="new-password"
            required
            value={value.newPassword}
            error={errorOf('newPassword')}
            onChange={(newPassword) => setValue({ ...value, newPassword })}
          />
          <TextField
            label={words.repeatPassword}
            type="password"
            autoComplete="new-password"
            required
            value={value.repeated}
            error={isDifferent ? words.passwordsDiffer : null}
            onChange={(repeated) => setValue({ ...value, repeated })}
          />
        </div>
        <ErrorNote error={change.error} />
        <Button type="submit" isBusy={change.isPending}>
          {words.changePassword}
        </Button>
      </form>
    </Section>
  );
}
