import { useId } from 'react';
import { useWords } from '../../../app/language.tsx';
import { TextField } from './controls.tsx';

/** A time zone of the IANA database, with suggestions. */
export function TimeZoneField({
  value,
  onChange,
  error,
}: {
  value: string;
  onChange: (zone: string) => void;
  error: string | null;
}) {
  const { settings } = useWords();
  const id = useId();
  return (
    <>
      <TextField label={settings.timeZone} required list={id} value={value} error={error} onChange={onChange} />
      <datalist id={id}>
        {Intl.supportedValuesOf('timeZone').map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
    </>
  );
}

export const browserTimeZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;
