import type { JsonValue } from '../../../shared/json.ts';
import { MailError } from '../../platform/mail/mail.ts';
import type { ContactRow } from './store.ts';

/** The most characters that one part of a mail may have once a contact's values are filled in. */
const maxPersonalisedLength = 2 * 1024 * 1024;

/**
 * {{name}}, {{email}} and {{attributes.<name>}} of a contact; what it lacks is nothing.
 * @throws MailError when the text would be too long, before that much is made.
 */
export function personalise(
  text: string,
  contact: Pick<ContactRow, 'name' | 'email' | 'attributes'>,
  escape: (value: string) => string,
): string {
  let room = maxPersonalisedLength - text.length;
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
      room -= filled.length;
      if (room < 0)
        throw new MailError(
          `with what the list knows of this contact the mail is longer than ${maxPersonalisedLength} characters`,
          { retryable: false, inDoubt: false },
        );
      return filled;
    },
  );
}
