import { Plus, X } from 'lucide-react';
import { useLanguage } from '../../../app/language.tsx';
import { Button, IconButton } from '../../../ui/button.tsx';
import { Input, Select } from '../../../ui/form.tsx';
import { Section } from '../../../ui/layout.tsx';
import { LongTextField, SwitchRow } from '../parts/controls.tsx';
import { browserTimeZone, TimeZoneField } from '../parts/time-zone-field.tsx';
import { useDayNames } from '../parts/week-days.ts';
import type { ChatValue } from './chat-value.ts';

type Hours = NonNullable<ChatValue['businessHours']>;
type Period = Hours['periods'][number];

const days: readonly Period['day'][] = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];
const maxPeriods = 50;

const newHours = (): Hours => ({
  timeZone: browserTimeZone(),
  periods: days.slice(0, 5).map((day) => ({ day, from: '09:00', to: '17:00' })),
  awayMessage: '',
});

function PeriodRow({
  period,
  onChange,
  onRemove,
  error,
}: {
  period: Period;
  onChange: (changes: Partial<Period>) => void;
  onRemove: () => void;
  error: string | null;
}) {
  const { settings } = useLanguage().words;
  const words = settings.chat;
  const dayName = useDayNames();
  return (
    <li>
      <div className="flex flex-wrap items-center gap-2">
        <Select
          aria-label={words.day}
          className="w-auto!"
          value={period.day}
          onChange={({ target }) => onChange({ day: target.value as Period['day'] })}
        >
          {days.map((day, index) => (
            <option key={day} value={day}>
              {dayName((index + 1) % 7)}
            </option>
          ))}
        </Select>
        {(['from', 'to'] as const).map((name) => (
          <Input
            key={name}
            aria-label={words[name]}
            className="w-20!"
            required
            inputMode="numeric"
            // The end of a day is 24:00, which a time input does not know.
            pattern="([01]\d|2[0-3]):[0-5]\d|24:00"
            placeholder="00:00"
            value={period[name]}
            onChange={({ target }) => onChange({ [name]: target.value })}
          />
        ))}
        <IconButton label={words.removePeriod} onClick={onRemove}>
          <X size={16} aria-hidden />
        </IconButton>
      </div>
      {error !== null && <p className="text-sm text-danger">{error}</p>}
    </li>
  );
}

export function BusinessHours({
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
  const { settings } = useLanguage().words;
  const words = settings.chat;
  return (
    <Section title={words.labels.businessHours}>
      <SwitchRow
        label={words.hasHours}
        hint={words.hoursHint}
        isOn={hours !== null}
        isDisabled={!canEdit}
        onChange={(isOn) => onChange(isOn ? newHours() : null)}
      />
      {hours !== null && (
        <>
          <div className="max-w-sm">
            <TimeZoneField
              value={hours.timeZone}
              error={errorOf('businessHours.timeZone')}
              onChange={(timeZone) => onChange({ ...hours, timeZone })}
            />
          </div>
          <ul className="mb-2 flex flex-col gap-2">
            {hours.periods.map((period, index) => (
              <PeriodRow
                key={index}
                period={period}
                error={errorOf(`businessHours.periods[${index}]`)}
                onChange={(changes) =>
                  onChange({
                    ...hours,
                    periods: hours.periods.map((each, at) => (at === index ? { ...each, ...changes } : each)),
                  })
                }
                onRemove={() => onChange({ ...hours, periods: hours.periods.filter((_each, at) => at !== index) })}
              />
            ))}
          </ul>
          {hours.periods.length < maxPeriods && (
            <Button
              size="small"
              className="mb-3"
              onClick={() =>
                onChange({ ...hours, periods: [...hours.periods, { day: 'saturday', from: '09:00', to: '12:00' }] })
              }
            >
              <Plus size={14} aria-hidden />
              {words.addPeriod}
            </Button>
          )}
          <LongTextField
            label={words.awayMessage}
            hint={words.awayHint}
            isOptional
            rows={2}
            maxLength={500}
            value={hours.awayMessage}
            error={errorOf('businessHours.awayMessage')}
            onChange={(awayMessage) => onChange({ ...hours, awayMessage })}
          />
        </>
      )}
    </Section>
  );
}
