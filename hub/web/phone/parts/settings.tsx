import type { Device } from '../../voice/state.ts';
import type { Language } from '../language.ts';
import type { PartProps } from './part-props.ts';

/** With which devices is spoken and heard. The page forgets it when it is left. */
export function Settings({ phone, state }: PartProps) {
  const { language, microphones, microphoneId, speakers, speakerId } = state;
  const { words } = language;
  return (
    <details class="settings">
      <summary>{words.settings}</summary>
      <div class="fields">
        <Choice
          label={words.microphone}
          value={microphoneId}
          devices={microphones}
          language={language}
          onChoose={(id) => void phone.setMicrophone(id)}
        />
        {speakers.length > 0 && (
          <Choice
            label={words.speaker}
            value={speakerId}
            devices={speakers}
            language={language}
            onChoose={(id) => void phone.setSpeaker(id)}
          />
        )}
      </div>
    </details>
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  devices: readonly Device[];
  language: Language;
  onChoose: (id: string) => void;
}

function Choice({ label, value, devices, language: { words, say }, onChoose }: ChoiceProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <select value={value} onChange={({ currentTarget }) => onChoose(currentTarget.value)}>
        <option value="">{words.deviceDefault}</option>
        {devices.map((device, index) => (
          <option key={device.id} value={device.id}>
            {device.label || say(words.deviceNumber, { number: index + 1 })}
          </option>
        ))}
      </select>
    </label>
  );
}
