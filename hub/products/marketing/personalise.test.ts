import { expect, test } from 'vitest';
import { MailError } from '../../platform/mail/mail.ts';
import { personalise } from './personalise.ts';

const plain = (value: string) => value;
const contact = (attributes: Record<string, string>) => ({ name: 'Ann', email: 'ann@example.org', attributes });

test('a mail has what the list knows of its contact, and nothing for what it lacks', () => {
  expect(
    personalise(
      '{{name}} {{ email }} {{attributes.city}}{{attributes.none}}{{unknown}}',
      contact({ city: 'Bern' }),
      plain,
    ),
  ).toBe('Ann ann@example.org Bern{{unknown}}');
});

test('a mail is bounded before it is made', () => {
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
