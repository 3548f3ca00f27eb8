/**
 * Keeps what the user typed when a script of a page is missing after an upgrade of the hub, so that it is there after a
 * reload. It is a part of the first script, because nothing else can be loaded then. `restore-texts.ts` fills the fields
 * again.
 */

export type TextField = HTMLInputElement | HTMLTextAreaElement;

export interface TypedText {
  /** Value of `data-keep` of the field. */
  name: string;
  /** Value when the user came to the field. It is filled again only over this value, so that no newer one is lost. */
  initial: string;
  value: string;
}

export interface KeptTexts {
  userId: string;
  /** Path and query of the page with the fields. */
  address: string;
  /** In milliseconds since 1970. */
  keptAt: number;
  texts: TypedText[];
}

/** In the storage of the tab, so that other tabs do not get the texts. */
export const storageKey = 'outrigger.typed';

/**
 * Fields whose text is kept: those of long texts that are not meant for secrets. The value of `data-keep` names
 * the field and its object, so that a text does not return into the field of another object.
 */
export const keptFields = '[data-keep]';

export const nameOf = (field: TextField) => field.dataset['keep'] ?? '';

const isKept = (target: EventTarget | null): target is TextField =>
  target instanceof Element && target.matches(keptFields);

export const currentAddress = () => location.pathname + location.search;

/** Fields to which the user came, as they were then. */
const visited = new Map<TextField, Omit<TypedText, 'value'> & { address: string }>();

export function noteField(field: TextField): void {
  if (!visited.has(field)) visited.set(field, { name: nameOf(field), initial: field.value, address: currentAddress() });
}

/** What the user typed on the page that is shown, and did not save. */
function typedTexts(): Pick<KeptTexts, 'address' | 'texts'> | null {
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
  document.addEventListener('focusin', ({ target }) => isKept(target) && noteField(target));
}

/**
 * Stores what the user typed on the page that is shown, or on the page before.
 * @returns the address of that page; null if nothing was typed, or if the browser does not store it.
 */
export function keepTypedTexts(): string | null {
  const typed = typedTexts() ?? leftBehind;
  if (typed === null) return null;
  const kept: KeptTexts = { ...typed, userId: user, keptAt: Date.now() };
  try {
    sessionStorage.setItem(storageKey, JSON.stringify(kept));
    return kept.address;
  } catch {
    return null;
  }
}

/** Forgets the texts that are kept, as when the user signs out. */
export const forgetTexts = () => sessionStorage.removeItem(storageKey);
