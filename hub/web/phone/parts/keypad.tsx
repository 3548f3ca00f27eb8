import { useEffect } from 'preact/hooks';
import type { PartProps } from './part-props.ts';

const keys = [...'123456789*0#'];

/** Keys for menus that listen; while it is open those of the keyboard count, too. */
export function Keypad({ phone, state: { language }, digits }: PartProps & { digits: string }) {
  const { words, say } = language;
  useEffect(() => {
    const onKey = ({ key, target, ctrlKey, metaKey, altKey }: KeyboardEvent) => {
      const isWriting = target instanceof HTMLInputElement || target instanceof HTMLSelectElement;
      if (keys.includes(key) && !isWriting && !ctrlKey && !metaKey && !altKey) phone.sendKey(key);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [phone]);
  return (
    <div class="keypad" role="group" aria-label={words.keypad} dir="ltr">
      <output aria-label={words.keysSent}>{digits}</output>
      {keys.map((key) => (
        <button key={key} type="button" aria-label={say(words.key, { key })} onClick={() => phone.sendKey(key)}>
          {key}
        </button>
      ))}
    </div>
  );
}
