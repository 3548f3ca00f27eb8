import { AppError } from '../../../../shared/errors.ts';
import { isOwnPage } from '../../../platform/http/pages/own-page.ts';
import { escapeHtml, pageOf, renderCommands, renderText } from '../../../platform/http/pages/page-layout.ts';
import { formHeaders } from '../../../platform/http/pages/page.ts';
import type { Page } from '../../../platform/http/pages/page.ts';
import { commandLines } from '../../../platform/process/command-lines.ts';
import type { Identity } from './service.ts';

const destinationOf = (given: unknown) => (typeof given === 'string' && isOwnPage(given) ? given : '/');
export const textOf = (given: unknown) => (typeof given === 'string' ? given : '');

export const hidden = (name: string, value: string) =>
  `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`;

/** The page of a sign-in link. Opening the page does not use up the link, because mail scanners open links. */
function renderSignInPage(code: string, to: string): string {
  return pageOf(
    'Sign in to Outrigger',
    `<h1>Sign in to Outrigger</h1>
<p>This link works once.</p>
<form method="post" action="/sign-in">${hidden('code', code)}${hidden('to', to)}<p><button>Sign in</button></p></form>`,
  );
}

/** The page with the sign-in form. `message` is the reason of a failed sign-in, or empty. */
function renderPasswordPage(message: string, to: string, email = ''): string {
  return pageOf(
    'Sign in to Outrigger',
    `<h1>Sign in to Outrigger</h1>
${message === '' ? '' : `<p role="alert" class="failed">${renderText(message)}</p>`}
<form method="post" action="/sign-in">${hidden('to', to)}
<p><label for="email">Email</label><input id="email" name="email" type="email" autocomplete="username" maxlength="254" required value="${escapeHtml(email)}"></p>
<p><label for="password">Password</label><input id="password" name="password" type="password" autocomplete="current-password" maxlength="256" required></p>
<p><button>Sign in</button></p></form>
<p><a href="/forgot-password">Forgot your password?</a></p>
<h2>Without a password</h2>
<p>A link that works once signs you in, too. Make one at the command line of the hub:</p>
${renderCommands(`${commandLines.hub} link`)}
<nav><a href="/">Back</a></nav>`,
  );
}

/** Pages to sign in with a link or a password, and to sign out. */
export const signInPages = (identity: Identity): Page[] => [
  {
    method: 'GET',
    path: '/sign-in',
    async answer({ query }) {
      const code = query.get('code');
      const to = destinationOf(query.get('to'));
      return {
        headers: formHeaders,
        html: code === null ? renderPasswordPage('', to) : renderSignInPage(code.slice(0, 200), to),
      };
    },
  },
  {
    method: 'POST',
    path: '/sign-in',
    limit: 'sign-in',
    async answer({ address, headers, form, assertSameOrigin }) {
      const { code, email, password, to } = await form();
      const seeOther = destinationOf(to);
      const origin = { address, userAgent: headers['user-agent'] };
      try {
        assertSameOrigin();
        const session =
          email === undefined
            ? await identity.redeemLink(textOf(code), origin)
            : await identity.logIn(
                { email: textOf(email).trim().toLowerCase().slice(0, 254), password: textOf(password).slice(0, 256) },
                origin,
              );
        return { session, seeOther };
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        return {
          status: error.status,
          headers: formHeaders,
          html: renderPasswordPage(error.message, seeOther, textOf(email).slice(0, 254)),
        };
      }
    },
  },
  {
    method: 'POST',
    path: '/sign-out',
    limit: 'page',
    async answer({ sessionToken, form, assertSameOrigin }) {
      const { to } = await form();
      assertSameOrigin();
      if (sessionToken !== null) await identity.logOutByToken(sessionToken);
      return { session: null, seeOther: destinationOf(to) };
    },
  },
];
