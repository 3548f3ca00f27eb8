import { passwordResetResource } from '../../../../shared/contract/core/password-resets.ts';
import { AppError } from '../../../../shared/errors.ts';
import { pageOf, renderCommands, renderText } from '../../../platform/http/pages/page-layout.ts';
import { formHeaders, linkHeaders } from '../../../platform/http/pages/page.ts';
import type { Page, PageResponse } from '../../../platform/http/pages/page.ts';
import { commandLines } from '../../../platform/process/command-lines.ts';
import { hidden, textOf } from './pages.ts';
import type { PasswordResets } from './password-resets.ts';
import type { Identity } from './service.ts';

const { requestPasswordReset, resetPassword } = passwordResetResource;

export const alertOf = (message: string) =>
  message === '' ? '' : `<p role="alert" class="failed">${renderText(message)}</p>\n`;

export const newPasswordFields = `<p><label for="password">New password</label><input id="password" name="password" type="password" autocomplete="new-password" minlength="12" maxlength="256" aria-describedby="rule" required><span id="rule" class="hint">At least 12 characters.</span></p>
<p><label for="repeated">New password again</label><input id="repeated" name="repeated" type="password" autocomplete="new-password" minlength="12" maxlength="256" required></p>`;

/** The new password from the two fields of a form. @throws AppError `validation_failed`. */
export function newPasswordOf({ password, repeated }: Record<string, unknown>): string {
  if (password !== repeated)
    throw new AppError('validation_failed', 'The two new passwords differ; enter the same one twice.');
  const parsed = resetPassword.body.shape.password.safeParse(password);
  if (!parsed.success)
    throw new AppError('validation_failed', `The new password ${parsed.error.issues[0]?.message ?? 'is not valid'}.`);
  return parsed.data;
}

function renderForgotPage(isAvailable: boolean, message: string): string {
  const form = `<p>Enter the address with which you sign in. If it has an account, a link to set a new password is mailed to it.</p>
${alertOf(message)}<form method="post" action="/forgot-password">
<p><label for="email">Email</label><input id="email" name="email" type="email" autocomplete="username" maxlength="254" required></p>
<p><button>Send the link</button></p></form>`;
  const without = `<p>This hub sends no mail for passwords. An operator of this hub can set a new password at its command line:</p>
${renderCommands(`${commandLines.hub} user password --email EMAIL`)}`;
  return pageOf(
    'Forgot your password?',
    `<h1>Forgot your password?</h1>
${isAvailable ? form : without}
<nav><a href="/sign-in">Back to sign-in</a></nav>`,
  );
}

const renderResetPage = (token: string, message: string) =>
  pageOf(
    'Set a new password',
    `<h1>Set a new password</h1>
<p>This signs you out everywhere. Then sign in with the new password.</p>
${alertOf(message)}<form method="post" action="/reset-password">${hidden('token', token)}
${newPasswordFields}
<p><button>Set the password</button></p></form>`,
  );

const renderInvalidLink = () =>
  pageOf(
    'This link does not work',
    `<h1>This link does not work</h1>
<p role="alert">The link is wrong, used or older than an hour.</p>
<nav><a href="/forgot-password">Request a new link</a><a href="/sign-in">Back to sign-in</a></nav>`,
  );

const renderChangePage = (email: string, message: string) =>
  pageOf(
    'Change your password',
    `<h1>Change your password</h1>
<p>${renderText(email)}. Your other sessions end when you change it.</p>
${alertOf(message)}<form method="post" action="/password">
<p><label for="current">Current password</label><input id="current" name="current" type="password" autocomplete="current-password" maxlength="256" required></p>
${newPasswordFields}
<p><button>Change the password</button></p></form>
<nav><a href="/forgot-password">Forgot your password?</a><a href="/">Back</a></nav>`,
  );

const renderDone = (title: string, text: string, link: string, label: string) =>
  pageOf(title, `<h1>${title}</h1><p role="status">${text}</p><nav><a href="${link}">${label}</a></nav>`);

/** Renders client errors in the page. Other errors propagate. */
export async function renderClientErrors(
  work: () => Promise<PageResponse>,
  headers: Record<string, string>,
  render: (message: string) => string,
): Promise<PageResponse> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError) || (error.status >= 500 && error.code !== 'unavailable')) throw error;
    return { status: error.status, headers, html: render(error.message) };
  }
}

/** Pages to request a password link, set a new password with it, and change a known password. */
export const passwordPages = (identity: Identity, resets: PasswordResets): Page[] => [
  {
    method: 'GET',
    path: '/forgot-password',
    answer: async () => ({ headers: formHeaders, html: renderForgotPage(resets.isAvailable, '') }),
  },
  {
    method: 'POST',
    path: '/forgot-password',
    limit: 'sign-in',
    answer: async ({ form, assertSameOrigin }) =>
      renderClientErrors(
        async () => {
          const email = requestPasswordReset.body.shape.email.safeParse(textOf((await form())['email']).trim());
          assertSameOrigin();
          if (!email.success) throw new AppError('validation_failed', 'Enter an email address.');
          if (!resets.isAvailable) return { headers: formHeaders, html: renderForgotPage(false, '') };
          await resets.request(email.data);
          return {
            headers: formHeaders,
            html: renderDone(
              'Look at your mail',
              'If this address has an account, a mail with a link is on its way. The link works once, within an hour.',
              '/sign-in',
              'Back to sign-in',
            ),
          };
        },
        formHeaders,
        (message) => renderForgotPage(resets.isAvailable, message),
      ),
  },
  {
    // Opening the page does not use up the link, because mail scanners open links.
    method: 'GET',
    path: '/reset-password',
    limit: 'page',
    async answer({ query }) {
      const token = (query.get('token') ?? '').slice(0, 200);
      const isOpen = await resets.isOpen(token);
      return {
        status: isOpen ? 200 : 401,
        headers: linkHeaders,
        html: isOpen ? renderResetPage(token, '') : renderInvalidLink(),
      };
    },
  },
  {
    // The token protects against forged requests, so the page needs no origin check and can hide its address from
    // referrers.
    method: 'POST',
    path: '/reset-password',
    limit: 'sign-in',
    async answer({ form }) {
      const fields = await form();
      const token = textOf(fields['token']).slice(0, 200);
      return renderClientErrors(
        async () => {
          await resets.reset({ token, password: newPasswordOf(fields) });
          return {
            headers: linkHeaders,
            session: null,
            html: renderDone(
              'Your password is changed',
              'You are signed out everywhere. Sign in with the new password.',
              '/sign-in',
              'Sign in',
            ),
          };
        },
        linkHeaders,
        (message) => renderResetPage(token, message),
      );
    },
  },
  {
    method: 'GET',
    path: '/password',
    limit: 'page',
    async answer({ sessionToken }) {
      const session = sessionToken === null ? null : await signedIn(identity, sessionToken);
      if (session === null) return { seeOther: '/sign-in?to=/password' };
      return { headers: formHeaders, html: renderChangePage(session.user.email, '') };
    },
  },
  {
    method: 'POST',
    path: '/password',
    limit: 'sign-in',
    async answer({ sessionToken, address, form, assertSameOrigin }) {
      const fields = await form();
      assertSameOrigin();
      const session = sessionToken === null ? null : await signedIn(identity, sessionToken);
      if (session === null) return { seeOther: '/sign-in?to=/password' };
      return renderClientErrors(
        async () => {
          const newPassword = newPasswordOf(fields);
          const currentPassword = textOf(fields['current']).slice(0, 256);
          await identity.passwords.change(session, { currentPassword, newPassword }, address);
          return {
            headers: formHeaders,
            html: renderDone('Your password is changed', 'Your other sessions have ended.', '/', 'Back'),
          };
        },
        formHeaders,
        (message) => renderChangePage(session.user.email, message),
      );
    },
  },
];

/** The session of a cookie; null if it ended. */
export const signedIn = (identity: Identity, token: string) =>
  identity.authenticateSession(token).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'unauthenticated') return null;
    throw error;
  });
