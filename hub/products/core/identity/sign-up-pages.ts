import { identity as resource } from '../../../../shared/contract/core/identity.ts';
import { AppError } from '../../../../shared/errors.ts';
import { pageLocaleOf } from '../../../platform/http/pages/page-language.ts';
import type { PageLocale } from '../../../platform/http/pages/page-language.ts';
import { escapeHtml, pageOf, renderCommands, renderText } from '../../../platform/http/pages/page-layout.ts';
import { formHeaders } from '../../../platform/http/pages/page.ts';
import type { Page, PageRequest, PageResponse } from '../../../platform/http/pages/page.ts';
import { commandLines } from '../../../platform/process/command-lines.ts';
import { destinationOf, hidden, originReason, textOf, withDestination } from './pages.ts';
import { alertOf, signedIn } from './password-pages.ts';
import type { Identity } from './service.ts';
import { signInWords, withValue } from './sign-in-words.ts';
import type { SignInWords } from './sign-in-words.ts';

const fields = resource.signUp.body.shape;

interface SignUpPage {
  locale: PageLocale;
  to: string;
  /** Email address of the user as whom the browser is signed in. */
  signedInAs: string | null;
  /** Reason of a failed sign-up; empty without one. */
  message?: string;
  email?: string;
  workspaceName?: string;
}

function renderSignUpPage({
  locale,
  to,
  signedInAs,
  message = '',
  email = '',
  workspaceName = '',
}: SignUpPage): string {
  const words = signInWords[locale];
  const present = signedInAs === null ? '' : `<p>${renderText(withValue(words.signedInAs, signedInAs))}</p>\n`;
  return pageOf(
    words.signUpTitle,
    `<h1>${words.signUpTitle}</h1>
<p>${words.signUpText}</p>
${present}${alertOf(message)}<form method="post" action="/sign-up">${hidden('to', to)}
<p><label for="workspaceName">${words.workspaceName}</label><input id="workspaceName" name="workspaceName" autocomplete="organization" maxlength="200" aria-describedby="workspace" required value="${escapeHtml(workspaceName)}"><span id="workspace" class="hint">${words.workspaceHint}</span></p>
<p><label for="email">${words.email}</label><input id="email" name="email" type="email" dir="ltr" autocomplete="username" maxlength="254" required value="${escapeHtml(email)}"></p>
<p><label for="password">${words.password}</label><input id="password" name="password" type="password" autocomplete="new-password" minlength="12" maxlength="256" aria-describedby="rule" required><span id="rule" class="hint">${words.passwordHint}</span></p>
<p><label for="repeated">${words.passwordAgain}</label><input id="repeated" name="repeated" type="password" autocomplete="new-password" minlength="12" maxlength="256" required></p>
<p><button>${words.signUp}</button></p></form>
<nav><a href="${withDestination('/sign-in', to)}">${words.haveAccount}</a></nav>`,
    locale,
  );
}

function closedPage(locale: PageLocale, to: string): PageResponse {
  const words = signInWords[locale];
  const html = pageOf(
    words.closedTitle,
    `<h1>${words.closedTitle}</h1>
<p>${words.closedText}</p>
<p>${words.closedCommand}</p>
${renderCommands(
  `${commandLines.hub} workspace create --name NAME`,
  `${commandLines.hub} user create --workspace NAME --role admin --email EMAIL`,
)}
<nav><a href="${withDestination('/sign-in', to)}">${words.haveAccount}</a></nav>`,
    locale,
  );
  return { status: 403, headers: formHeaders, html };
}

/** The fields of the form, checked as those of the API. @throws AppError `validation_failed`. */
function accountOf(form: Record<string, unknown>, words: SignInWords) {
  const read = <Name extends keyof typeof fields>(name: Name, given: unknown, reason: string): string => {
    const parsed = fields[name].safeParse(given);
    if (!parsed.success) throw new AppError('validation_failed', reason);
    return parsed.data;
  };
  const workspaceName = read('workspaceName', textOf(form['workspaceName']).trim(), words.invalidWorkspaceName);
  const email = read('email', textOf(form['email']).trim(), words.invalidEmail);
  if (form['password'] !== form['repeated']) throw new AppError('validation_failed', words.passwordsDiffer);
  return { workspaceName, email, password: read('password', form['password'], words.invalidPassword) };
}

/** Why a sign-up failed, in the language of the page. */
function reasonOf(error: AppError, locale: PageLocale): string {
  const words = signInWords[locale];
  if (error.code === 'email_taken') return words.emailTaken;
  if (error.code === 'workspace_name_taken') return words.workspaceNameTaken;
  return error.code === 'origin_not_allowed' ? originReason(error, locale) : error.message;
}

/** The page on which a person creates an account with a workspace, where the hub allows it. */
export function signUpPages(identity: Identity): Page[] {
  const emailOf = async ({ sessionToken }: PageRequest) =>
    sessionToken === null ? null : ((await signedIn(identity, sessionToken))?.user.email ?? null);
  return [
    {
      method: 'GET',
      path: '/sign-up',
      limit: 'page',
      async answer(request) {
        const locale = pageLocaleOf(request.headers['accept-language']);
        const to = destinationOf(request.query.get('to'));
        if (!identity.isSignUpOpen) return closedPage(locale, to);
        const signedInAs = await emailOf(request);
        return { headers: formHeaders, html: renderSignUpPage({ locale, to, signedInAs }) };
      },
    },
    {
      method: 'POST',
      path: '/sign-up',
      limit: 'sign-in',
      async answer(request) {
        const { address, headers } = request;
        const locale = pageLocaleOf(headers['accept-language']);
        const form = await request.form();
        const to = destinationOf(form['to']);
        if (!identity.isSignUpOpen) return closedPage(locale, to);
        try {
          request.assertSameOrigin();
          const session = await identity.signUp(accountOf(form, signInWords[locale]), {
            address,
            userAgent: headers['user-agent'],
          });
          return { session, seeOther: to };
        } catch (error) {
          if (!(error instanceof AppError) || error.status >= 500) throw error;
          // A page of another site must not fill in the form.
          const typed =
            error.code === 'origin_not_allowed'
              ? {}
              : {
                  email: textOf(form['email']).slice(0, 254),
                  workspaceName: textOf(form['workspaceName']).slice(0, 200),
                };
          const message = reasonOf(error, locale);
          const signedInAs = await emailOf(request);
          return {
            status: error.status,
            headers: formHeaders,
            html: renderSignUpPage({ locale, to, signedInAs, message, ...typed }),
          };
        }
      },
    },
  ];
}
