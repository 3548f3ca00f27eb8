import { z } from 'zod';
import { named, text } from '../common.ts';
import { defineResource } from '../define.ts';
import { email, password } from './identity.ts';

const tag = 'Workspaces and people';

export const passwordResetResource = defineResource({
  requestPasswordReset: {
    tag,
    callers: ['public'],
    method: 'POST',
    path: '/auth/password/reset-request',
    summary: 'Request a password reset by mail',
    description:
      'Mails a link that works once and expires after one hour. The response is the same whether or not the address has an account. Limit: 3 links per account and hour. Requires `SMTP_URL`, `MAIL_FROM` and `PUBLIC_URL`; without them the response is 501, and the operator can set the password with `outrigger user password`.',
    body: named(
      'RequestPasswordReset',
      z.strictObject({ email: email.describe('Email address with which the user signs in') }),
      { email: 'ann@example.com' },
    ),
    response: named(
      'PasswordResetRequested',
      z.object({ requested: z.literal(true).describe('Always true: it does not show whether the account exists') }),
    ),
    errors: ['not_available', 'unavailable'],
    ipLimit: 'sign-in',
  },
  resetPassword: {
    tag,
    callers: ['public'],
    method: 'POST',
    path: '/auth/password/reset',
    summary: 'Set a new password with a reset token',
    description:
      'All sessions, sign-in links and other reset links of the user are revoked immediately on every process. The user then signs in with the new password.',
    body: named(
      'ResetPassword',
      z.strictObject({
        token: text(1, 200).describe('The `token` in the address of the mailed link'),
        password: password.describe('The new password, with at least 12 characters'),
      }),
      { token: 'p2KkVb0mTg3Jw6uXh1R9cQ7sYdN4eZaL5oFiBtMxW8E', password: 'a longer passphrase' },
    ),
    response: named('PasswordReset', z.object({ changed: z.literal(true).describe('Always true') })),
    errors: ['invalid_credentials'],
    ipLimit: 'sign-in',
  },
});
