import { useWords } from '../../../app/language.tsx';
import { CheckRow, Group, SwitchRow, TextField } from '../parts/controls.tsx';
import { browserTimeZone, TimeZoneField } from '../parts/time-zone-field.tsx';
import { useDayNames } from '../parts/week-days.ts';
import type { PolicyValue } from './policy-value.ts';

type Hours = NonNullable<PolicyValue['quietHours']>;
/** 0 for Sunday; the week starts with Monday. */
const weekDays = [1, 2, 3, 4, 5, 6, 0];

export function QuietHoursFields({
  hours,
  onChange,
  errorOf,
  canEdit,
}: {
  hours: Hours | null;
  onChange: (hours: Hours | null) => void;
  errorOf: (path: string) => string | null;
  canEdit: boolean;
}) {
  const { settings } = useWords();
  const words = settings.policy;
  const dayName = useDayNames();
  const days = hours?.days ?? weekDays;
  return (
    <>
      <SwitchRow
        label={words.labels.quietHours}
        hint={words.quietHint}
        isOn={hours !== null}
        isDisabled={!canEdit}
        onChange={(isOn) => onChange(isOn ? { from: '22:00', to: '06:00', timezone: browserTimeZone() } : null)}
      />
      {hours !== null && (
        <div className="mb-3 rounded-(--radius-medium) border p-3">
          <div className="grid gap-x-4 sm:grid-cols-3">
            {(['from', 'to'] as const).map((name) => (
              <TextField
                key={name}
                label={words[name]}
                type="time"
                required
                value={hours[name]}
                error={errorOf(`quietHours.${name}`)}
                onChange={(time) => onChange({ ...hours, [name]: time })}
              />
            ))}
            <TimeZoneField
              value={hours.timezone}
              error={errorOf('quietHours.timezone')}
              onChange={(timezone) => onChange({ ...hours, timezone })}
            />
          </div>
          <Group label={words.startDays} error={errorOf('quietHours.days')}>
            <div className="flex flex-wrap gap-x-4">
              {weekDays.map((day) => (
                <CheckRow
                  key={day}
                  label={dayName(day)}
                  isChecked={days.includes(day)}
                  onChange={(isChecked) =>
                    onChange({
                      ...hours,
                      days: isChecked
                        ? weekDays.filter((each) => each === day || days.includes(each))
                        : days.filter((each) => each !== day),
                    })
                  }
                />
              ))}
            </div>
          </Group>
        </div>
      )}
    </>
  );
}
