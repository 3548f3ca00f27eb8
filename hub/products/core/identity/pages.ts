import { AppError } from '../../../../shared/errors.ts';
import { isOwnPage } from '../../../platform/http/pages/own-page.ts';
import { pageLocaleOf } from '../../../platform/http/pages/page-language.ts';
import type { PageLocale } from '../../../platform/http/pages/page-language.ts';
import { escapeHtml, pageOf, renderCommands, renderText } from '../../../platform/http/pages/page-layout.ts';
import { formHeaders } from '../../../platform/http/pages/page.ts';
import type { Page } from '../../../platform/http/pages/page.ts';
import { commandLines } from '../../../platform/process/command-lines.ts';
import type { Identity } from './service.ts';
import { signInWords, withValue } from './sign-in-words.ts';

export const destinationOf = (given: unknown) => (typeof given === 'string' && isOwnPage(given) ? given : '/');
export const textOf = (given: unknown) => (typeof given === 'string' ? given : '');

export const hidden = (name: string, value: string) =>
  `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`;

/** The address of a page that leads to `to` afterwards. */
export const withDestination = (path: string, to: string) =>
  escapeHtml(to === '/' ? path : `${path}?to=${encodeURIComponent(to)}`);

/** The page of a sign-in link. Opening the page does not use up the link, because mail scanners open links. */
function renderSignInPage(code: string, to: string, locale: PageLocale): string {
  const words = signInWords[locale];
  return pageOf(
    words.signInTitle,
    `<h1>${words.signInTitle}</h1>
<p>${words.worksOnce}</p>
<form method="post" action="/sign-in">${hidden('code', code)}${hidden('to', to)}<p><button>${words.signIn}</button></p></form>`,
    locale,
  );
}

interface PasswordPage {
  locale: PageLocale;
  /** Reason of a failed sign-in; empty without one. */
  message: string;
  to: string;
  email?: string;
  isSignUpOpen: boolean;
}

/** The page with the sign-in form. */
function renderPasswordPage({ locale, message, to, email = '', isSignUpOpen }: PasswordPage): string {
  const words = signInWords[locale];
  const signUp = isSignUpOpen ? `<a href="${withDestination('/sign-up', to)}">${words.createAccount}</a>` : '';
  return pageOf(
    words.signInTitle,
    `<h1>${words.signInTitle}</h1>
${message === '' ? '' : `<p role="alert" class="failed">${renderText(message)}</p>`}
<form method="post" action="/sign-in">${hidden('to', to)}
<p><label for="email">${words.email}</label><input id="email" name="email" type="email" dir="ltr" autocomplete="username" maxlength="254" required value="${escapeHtml(email)}"></p>
<p><label for="password">${words.password}</label><input id="password" name="password" type="password" autocomplete="current-password" maxlength="256" required></p>
<p><button>${words.signIn}</button></p></form>
<p><a href="/forgot-password">${words.forgotPassword}</a></p>
<h2>${words.withoutPassword}</h2>
<p>${words.withoutPasswordText}</p>
${renderCommands(`${commandLines.hub} link`)}
<nav>${signUp}<a href="/">${words.back}</a></nav>`,
    locale,
  );
}

/** Why a sign-in failed, in the language of the page. */
function reasonOf(error: AppError, locale: PageLocale, isLink: boolean): string {
  const words = signInWords[locale];
  if (error.code === 'invalid_credentials')
    return isLink ? withValue(words.wrongLink, `${commandLines.hub} link`) : words.wrongPassword;
  if (error.code === 'rate_limited' && error.retryAfterSeconds !== undefined)
    return withValue(words.tooManySignIns, String(error.retryAfterSeconds));
  return error.code === 'origin_not_allowed' ? originReason(error, locale) : error.message;
}

/** Why a form was refused because of the page that sent it, or because of the host name. */
export const originReason = ({ message }: AppError, locale: PageLocale): string =>
  `${signInWords[locale].otherSite} (${message})`;

/** Pages to sign in with a link or a password, and to sign out. */
export const signInPages = (identity: Identity): Page[] => [
  {
    method: 'GET',
    path: '/sign-in',
    async answer({ query, headers }) {
      const code = query.get('code');
      const to = destinationOf(query.get('to'));
      const locale = pageLocaleOf(headers['accept-language']);
      const { isSignUpOpen } = identity;
      return {
        headers: formHeaders,
        html:
          code === null
            ? renderPasswordPage({ locale, message: '', to, isSignUpOpen })
            : renderSignInPage(code.slice(0, 200), to, locale),
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
        const locale = pageLocaleOf(headers['accept-language']);
        return {
          status: error.status,
          headers: formHeaders,
          html: renderPasswordPage({
            locale,
            message: reasonOf(error, locale, email === undefined),
            to: seeOther,
            email: textOf(email).slice(0, 254),
            isSignUpOpen: identity.isSignUpOpen,
          }),
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
