import type { ComponentChildren } from 'preact';
import { background } from '../../../../shared/web/background.ts';
import type { Device } from '../state.ts';
import type { PartProps } from './part-props.ts';

/** Languages, voice and devices. The settings last until the user leaves the page. */
export function Settings({ session, state }: PartProps) {
  const { language, isSoundOn, spokenLanguage, voice, microphones, microphoneId, speakers, speakerId } = state;
  const { words } = language;
  return (
    <details class="settings">
      <summary>{words.settings}</summary>
      <div class="fields">
        <Choice label={words.language} value={spokenLanguage} onChoose={(value) => session.setSpokenLanguage(value)}>
          <option value="">{words.languageAuto}</option>
          {language.languages.map(({ code, name }) => (
            <option key={code} value={code}>
              {name}
            </option>
          ))}
        </Choice>
        <label class="field">
          <span>{words.voice}</span>
          <input
            type="text"
            dir="auto"
            autocomplete="off"
            spellcheck={false}
            maxLength={100}
            value={voice}
            placeholder={words.voiceDefault}
            aria-describedby="voice-hint"
            onChange={({ currentTarget }) => session.setVoice(currentTarget.value.trim())}
          />
          <small id="voice-hint">{words.voiceHint}</small>
        </label>
        <Choice
          label={words.microphone}
          value={microphoneId}
          onChoose={(value) => background(session.setMicrophone(value))}
        >
          <Devices devices={microphones} state={state} />
        </Choice>
        {speakers.length > 0 && (
          <Choice label={words.speaker} value={speakerId} onChoose={(value) => background(session.setSpeaker(value))}>
            <Devices devices={speakers} state={state} />
          </Choice>
        )}
        <label class="switch">
          <input
            type="checkbox"
            role="switch"
            checked={isSoundOn}
            onChange={({ currentTarget }) => session.setSound(currentTarget.checked)}
          />
          <span>{words.sound}</span>
        </label>
      </div>
    </details>
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  onChoose: (value: string) => void;
  children: ComponentChildren;
}

const Choice = ({ label, value, onChoose, children }: ChoiceProps) => (
  <label class="field">
    <span>{label}</span>
    <select value={value} onChange={({ currentTarget }) => onChoose(currentTarget.value)}>
      {children}
    </select>
  </label>
);

function Devices({ devices, state: { language } }: { devices: readonly Device[]; state: PartProps['state'] }) {
  const { words, format } = language;
  return (
    <>
      <option value="">{words.deviceDefault}</option>
      {devices.map(({ id, label }, index) => (
        <option key={id} value={id}>
          {label || format(words.deviceNumber, { number: index + 1 })}
        </option>
      ))}
    </>
  );
}
