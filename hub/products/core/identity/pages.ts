import { AppError } from '../../../../shared/errors.ts';
import { escapeHtml, pageOf, shownCommands, shownText } from '../../../platform/http/page-layout.ts';
import type { Page } from '../../../platform/http/page.ts';
import type { Identity } from './service.ts';

/** The page that a sign-in link opens. Following the link changes nothing, so that a mail scanner can't use it up. */
function renderSignInPage(code: string): string {
  return pageOf(
    'Sign in to Outrigger',
    `<h1>Sign in to Outrigger</h1>
<p>This link works once.</p>
<form method="post" action="/sign-in"><input type="hidden" name="code" value="${escapeHtml(code)}"><p><button>Sign in</button></p></form>`,
  );
}

/** The page that leads nobody in, and says why; `more` is HTML. */
function renderNoSignIn(heading: string, message: string, more = ''): string {
  return pageOf(
    'Sign in to Outrigger',
    `<h1>${escapeHtml(heading)}</h1>\n<p>${shownText(message)}</p>${more}\n<nav><a href="/">Back</a></nav>`,
  );
}

/** Signing in by a link from the command line. */
export const signInPages = (identity: Identity): Page[] => [
  {
    method: 'GET',
    path: '/sign-in',
    async answer({ query }) {
      const code = query.get('code');
      return {
        // With no referrer at all the form would not tell its origin, and so could not be told from another site's.
        headers: { 'Cache-Control': 'no-store', 'Referrer-Policy': 'same-origin' },
        html:
          code === null
            ? renderNoSignIn(
                'Sign in to Outrigger',
                'You sign in by a link that works once. Make one at the command line of the hub:',
                shownCommands('npm run outrigger -- link'),
              )
            : renderSignInPage(code.slice(0, 200)),
      };
    },
  },
  {
    method: 'POST',
    path: '/sign-in',
    limit: 'sign-in',
    async answer({ address, form, assertSameOrigin }) {
      const { code } = await form();
      try {
        assertSameOrigin();
        return { session: await identity.redeemLink(typeof code === 'string' ? code : '', address), seeOther: '/' };
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        return { status: error.status, html: renderNoSignIn('That did not work', error.message) };
      }
    },
  },
];
