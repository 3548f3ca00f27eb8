import { currentAddress, forgetTexts, keptFields, nameOf, noteField, storageKey } from './typed-texts.ts';
import type { KeptTexts, TextField } from './typed-texts.ts';

/** Older texts are forgotten. */
const maxAgeMs = 3_600_000;

function read(userId: string): KeptTexts | null {
  try {
    const kept = JSON.parse(sessionStorage.getItem(storageKey) ?? 'null') as KeptTexts | null;
    if (kept === null || !Array.isArray(kept.texts)) return null;
    return kept.userId === userId && Date.now() - kept.keptAt < maxAgeMs ? kept : null;
  } catch {
    return null;
  }
}

/** Changes a field as a user does, so that the form notices. */
function type(field: TextField, value: string): void {
  noteField(field);
  // React replaces the setter of the element, and ignores an event without a change that it has not seen.
  const prototype: object = Object.getPrototypeOf(field) as object;
  Object.getOwnPropertyDescriptor(prototype, 'value')?.set?.call(field, value);
  field.dispatchEvent(new Event('input', { bubbles: true }));
}

/**
 * Fills the fields of a page with what was typed before the page was loaded again, as soon as they appear. A field with
 * another value than at that time stays as it is, because someone saved a newer one. When the user leaves the page, the
 * rest is forgotten.
 * @param onRestored called once, after the first field.
 */
export function restoreTexts(userId: string, onRestored: () => void): void {
  const kept = read(userId);
  if (kept === null) {
    forgetTexts();
    return;
  }
  const waiting = new Map(kept.texts.map((text) => [text.name, text]));
  let hasArrived = false;
  let hasRestored = false;
  const end = () => {
    observer.disconnect();
    forgetTexts();
  };
  const fill = () => {
    if (currentAddress() !== kept.address) {
      if (hasArrived) end();
      return;
    }
    hasArrived = true;
    for (const field of document.querySelectorAll<TextField>(keptFields)) {
      const name = nameOf(field);
      const text = waiting.get(name);
      if (text === undefined || field.disabled || field.value !== text.initial) continue;
      waiting.delete(name);
      type(field, text.value);
      if (!hasRestored) onRestored();
      hasRestored = true;
    }
    if (waiting.size === 0) end();
  };
  const observer = new MutationObserver(fill);
  observer.observe(document.body, { childList: true, subtree: true });
  fill();
}
