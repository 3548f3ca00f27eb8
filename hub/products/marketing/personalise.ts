import type { JsonValue } from '../../../shared/json.ts';
import { MailError } from '../../platform/mail/mail.ts';
import type { ContactRow } from './store.ts';

/** Maximum length of one part of a mail after the values of a contact are filled in, in characters. */
const maxPersonalisedLength = 2 * 1024 * 1024;

/**
 * Fills in `{{name}}`, `{{email}}` and `{{attributes.<name>}}` of a contact. A missing value becomes an empty text.
 * @throws MailError when the text exceeds the limit, before the text is built.
 */
export function personalise(
  text: string,
  contact: Pick<ContactRow, 'name' | 'email' | 'attributes'>,
  escape: (value: string) => string,
): string {
  let remaining = maxPersonalisedLength - text.length;
  const values = new Map<string, string>();
  return text.replaceAll(
    /\{\{\s*(name|email|attributes\.([A-Za-z0-9_-]+))\s*\}\}/g,
    (_whole, reference: string, attribute: string | undefined) => {
      let filled = values.get(reference);
      if (filled === undefined) {
        const value: JsonValue | undefined =
          attribute === undefined
            ? contact[reference as 'name' | 'email']
            : Object.hasOwn(contact.attributes, attribute)
              ? contact.attributes[attribute]
              : '';
        filled = escape(
          value === null || value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value),
        );
        values.set(reference, filled);
      }
      remaining -= filled.length;
      if (remaining < 0)
        throw new MailError(
          `the mail exceeds ${maxPersonalisedLength} characters after the values of this contact are filled in`,
          { retryable: false, inDoubt: false },
        );
      return filled;
    },
  );
}
