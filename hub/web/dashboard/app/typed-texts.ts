/**
 * Keeps what the user typed when a script of a page is missing after an upgrade of the hub, so that it is there after a
 * reload. It is a part of the first script, because nothing else can be loaded then. `restore-texts.ts` fills the fields
 * again.
 */

export type TextField = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

export interface TypedText {
  /** Identifies the field on its page, see `nameOf`. */
  name: string;
  /** Value when the user came to the field. It is filled again only over this value, so that no newer one is lost. */
  initial: string;
  value: string;
}

export interface KeptTexts {
  userId: string;
  /** Path and query of the page with the fields. */
  address: string;
  texts: TypedText[];
}

/** In the storage of the tab, so that other tabs do not get the texts. */
export const storageKey = 'outrigger.typed';

// Passwords and fields that the browser must not keep (keys, tokens) are never stored. A field with a draft of its own
// keeps its text itself.
export const textFields =
  ':is(input:not([type]), input:is([type=text], [type=search], [type=email], [type=url], [type=tel], [type=number], [type=date], [type=time], [type=datetime-local]), textarea, select):not([data-keeps-draft], [autocomplete=off])';

const isTextField = (target: EventTarget | null): target is TextField =>
  target instanceof Element && target.matches(textFields);

const labelOf = (field: TextField) =>
  field.labels?.[0]?.textContent ?? field.getAttribute('aria-label') ?? field.getAttribute('name') ?? '';

/** The dialog, the label and the number of a field among those with the same label. */
export function nameOf(field: TextField): string {
  const dialog = field.closest('dialog');
  const label = labelOf(field);
  const same = [...(dialog ?? document).querySelectorAll<TextField>(textFields)].filter(
    (other) => other.closest('dialog') === dialog && labelOf(other) === label,
  );
  return JSON.stringify([dialog?.querySelector('h2')?.textContent ?? '', label, same.indexOf(field)]);
}

export const currentAddress = () => location.pathname + location.search;

/** Fields to which the user came, as they were then. */
const visited = new Map<TextField, Omit<TypedText, 'value'> & { address: string }>();

export function noteField(field: TextField): void {
  if (!visited.has(field)) visited.set(field, { name: nameOf(field), initial: field.value, address: currentAddress() });
}

/** What the user typed on the page that is shown, and did not save. */
function typedTexts(): Omit<KeptTexts, 'userId'> | null {
  for (const field of visited.keys()) if (!field.isConnected) visited.delete(field);
  const typed = [...visited].filter(([field, { initial }]) => field.value !== initial);
  const address = typed.at(-1)?.[1].address;
  if (address === undefined) return null;
  const ofPage = typed.filter(([, noted]) => noted.address === address);
  return { address, texts: ofPage.map(([{ value }, { name, initial }]) => ({ name, initial, value })) };
}

/** What was typed on the page before, when the user left it. */
let leftBehind: ReturnType<typeof typedTexts> = null;
export const noteLeaving = () => {
  leftBehind = typedTexts();
};

let user = '';

/** Notes the fields to which the user of the page comes. */
export function watchFields(userId: string): void {
  user = userId;
  document.addEventListener('focusin', ({ target }) => isTextField(target) && noteField(target));
}

/**
 * Stores what the user typed on the page that is shown, or on the page before.
 * @returns the address of that page; null if nothing was typed, or if the browser does not store it.
 */
export function keepTypedTexts(): string | null {
  const kept = typedTexts() ?? leftBehind;
  if (kept === null) return null;
  try {
    sessionStorage.setItem(storageKey, JSON.stringify({ ...kept, userId: user } satisfies KeptTexts));
    return kept.address;
  } catch {
    return null;
  }
}
