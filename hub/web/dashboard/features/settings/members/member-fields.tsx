import { useWords } from '../../../app/language.tsx';
import { ChoiceField, TextField } from '../parts/controls.tsx';
import { FourEyesNote } from './four-eyes-note.tsx';

export interface NewMember {
  email: string;
  role: 'admin' | 'agent';
}

/** The address and the role of a new member. */
export function MemberFields({
  value,
  errorOf,
  onChange,
}: {
  value: NewMember;
  errorOf: (path: string) => string | null;
  onChange: (value: NewMember) => void;
}) {
  const { common, settings } = useWords();
  const { email, role } = value;
  return (
    <>
      <TextField
        label={common.email}
        type="email"
        required
        autoComplete="off"
        value={email}
        error={errorOf('email')}
        onChange={(changed) => onChange({ ...value, email: changed })}
      />
      <ChoiceField
        label={settings.members.role}
        hint={settings.members.roleText[role]}
        value={role}
        choices={[
          ['agent', common.roles.agent],
          ['admin', common.roles.admin],
        ]}
        error={errorOf('role')}
        onChange={(changed) => onChange({ ...value, role: changed })}
      />
      <FourEyesNote role={role} />
    </>
  );
}
