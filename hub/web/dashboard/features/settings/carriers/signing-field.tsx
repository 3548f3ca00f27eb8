import { useWords } from '../../../app/language.tsx';
import { TextField } from '../parts/controls.tsx';
import { signingField } from './carriers.ts';
import type { Carrier } from './carriers.ts';

/** What the carrier signs its events with. The hub does not show it again. */
export function SigningField({
  provider,
  value,
  errorOf,
  onChange,
}: {
  provider: Carrier;
  value: string;
  errorOf: (path: string) => string | null;
  onChange: (value: string) => void;
}) {
  const words = useWords().settings.carriers;
  const field = signingField[provider];
  if (field === null) return null;
  return (
    <TextField
      label={words[field]}
      hint={words[`${field}Hint`]}
      type={field === 'authToken' ? 'password' : 'text'}
      required
      autoComplete="off"
      value={value}
      error={errorOf(field)}
      onChange={onChange}
    />
  );
}
