import { background } from '../../../../shared/web/background.ts';
import type { Device } from '../../voice/state.ts';
import type { Language } from '../language.ts';
import type { PartProps } from './part-props.ts';

/** Choice of microphone and speaker. The page does not store the choice. */
export function Settings({ phone, state }: PartProps) {
  const { language, microphones, microphoneId, speakers, speakerId } = state;
  const { words } = language;
  return (
    <details class="settings">
      <summary>{words.settings}</summary>
      <div class="fields">
        <DeviceSelect
          label={words.microphone}
          value={microphoneId}
          devices={microphones}
          language={language}
          onChoose={(id) => background(phone.setMicrophone(id))}
        />
        {speakers.length > 0 && (
          <DeviceSelect
            label={words.speaker}
            value={speakerId}
            devices={speakers}
            language={language}
            onChoose={(id) => background(phone.setSpeaker(id))}
          />
        )}
      </div>
    </details>
  );
}

interface DeviceSelectProps {
  label: string;
  value: string;
  devices: readonly Device[];
  language: Language;
  onChoose: (id: string) => void;
}

function DeviceSelect({ label, value, devices, language: { words, format }, onChoose }: DeviceSelectProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <select value={value} onChange={({ currentTarget }) => onChoose(currentTarget.value)}>
        <option value="">{words.deviceDefault}</option>
        {devices.map((device, index) => (
          <option key={device.id} value={device.id}>
            {device.label || format(words.deviceNumber, { number: index + 1 })}
          </option>
        ))}
      </select>
    </label>
  );
}
