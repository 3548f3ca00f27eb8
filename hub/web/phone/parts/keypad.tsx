import { useEffect } from 'preact/hooks';
import type { PartProps } from './part-props.ts';

const keys = [...'123456789*0#'];

/** Sends keypad tones (DTMF), for example to voice menus. While it is open, keys of the keyboard are sent too. */
export function Keypad({ phone, state: { language }, digits }: PartProps & { digits: string }) {
  const { words, format } = language;
  useEffect(() => {
    const onKey = ({ key, target, ctrlKey, metaKey, altKey }: KeyboardEvent) => {
      const isTyping = target instanceof HTMLInputElement || target instanceof HTMLSelectElement;
      if (keys.includes(key) && !isTyping && !ctrlKey && !metaKey && !altKey) phone.sendKey(key);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [phone]);
  return (
    <div class="keypad" role="group" aria-label={words.keypad} dir="ltr">
      <output aria-label={words.keysSent}>{digits}</output>
      {keys.map((key) => (
        <button key={key} type="button" aria-label={format(words.key, { key })} onClick={() => phone.sendKey(key)}>
          {key}
        </button>
      ))}
    </div>
  );
}
