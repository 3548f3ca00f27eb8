import { expect, test } from 'vitest';
import { MailError } from '../../platform/mail/mail.ts';
import { personalise } from './personalise.ts';

const plain = (value: string) => value;
const contact = (attributes: Record<string, string>) => ({ name: 'Ann', email: 'ann@example.org', attributes });

test('personalising a mail fills in the values of the contact and leaves missing values empty', () => {
  expect(
    personalise(
      '{{name}} {{ email }} {{attributes.city}}{{attributes.none}}{{unknown}}',
      contact({ city: 'Bern' }),
      plain,
    ),
  ).toBe('Ann ann@example.org Bern{{unknown}}');
});

test('personalising a mail that would exceed the size limit fails before the text is built', () => {
  let made = 0;
  const escape = (value: string) => {
    made += value.length;
    return value;
  };
  expect(() =>
    personalise('{{attributes.long}}'.repeat(25_000), contact({ long: 'x'.repeat(1_000_000) }), escape),
  ).toThrow(MailError);
  expect(made).toBe(1_000_000);
});
