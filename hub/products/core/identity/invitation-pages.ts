import { invitations as resource } from '../../../../shared/contract/core/invitations.ts';
import { AppError } from '../../../../shared/errors.ts';
import { escapeHtml, pageOf, renderText } from '../../../platform/http/pages/page-layout.ts';
import { formHeaders } from '../../../platform/http/pages/page.ts';
import type { Page } from '../../../platform/http/pages/page.ts';
import type { Invitations } from './invitations.ts';
import { hidden, textOf } from './pages.ts';
import { alertOf, newPasswordFields, newPasswordOf, renderClientErrors } from './password-pages.ts';

type Shown = NonNullable<Awaited<ReturnType<Invitations['show']>>>;

const codeOf = (given: unknown) => textOf(given).slice(0, 200);

function renderJoinPage({ email, workspaceName }: Shown, code: string, message: string, name = ''): string {
  return pageOf(
    `Join ${workspaceName}`,
    `<h1>Join ${renderText(workspaceName)}</h1>
<p>You were invited to this workspace of Outrigger. Choose a password; you will sign in with the address <strong>${renderText(email)}</strong>.</p>
${alertOf(message)}<form method="post" action="/join">${hidden('code', code)}
<input type="hidden" name="username" autocomplete="username" value="${escapeHtml(email)}">
<p><label for="name">Your name (optional)</label><input id="name" name="name" autocomplete="name" maxlength="100" aria-describedby="seen" value="${escapeHtml(name)}"><span id="seen" class="hint">Colleagues and visitors of your chats see it. You can add it later.</span></p>
${newPasswordFields}
<p><button>Join</button></p></form>`,
  );
}

const renderInvalidLink = () =>
  pageOf(
    'This link does not work',
    `<h1>This link does not work</h1>
<p role="alert">The invitation is wrong, used, revoked or older than a week. Ask an admin of the workspace for a new link.</p>
<nav><a href="/sign-in">Sign in</a></nav>`,
  );

const invalidLink = { status: 401, headers: formHeaders, html: renderInvalidLink() };

/** The page behind the link of an invitation. */
export const invitationPages = (invitations: Invitations): Page[] => [
  {
    // Opening the page does not use up the link, because mail scanners open links.
    method: 'GET',
    path: '/join',
    limit: 'page',
    async answer({ query }) {
      const code = codeOf(query.get('code'));
      const shown = await invitations.show(code);
      return shown === null ? invalidLink : { headers: formHeaders, html: renderJoinPage(shown, code, '') };
    },
  },
  {
    method: 'POST',
    path: '/join',
    limit: 'sign-in',
    async answer({ address, headers, form, assertSameOrigin }) {
      const fields = await form();
      assertSameOrigin();
      const code = codeOf(fields['code']);
      const shown = await invitations.show(code);
      if (shown === null) return invalidLink;
      const name = textOf(fields['name']).trim();
      return renderClientErrors(
        async () => {
          const displayName = resource.acceptInvitation.body.shape.displayName.safeParse(name === '' ? null : name);
          if (!displayName.success)
            throw new AppError(
              'validation_failed',
              `Your name ${displayName.error.issues[0]?.message ?? 'is not valid'}.`,
            );
          const session = await invitations.accept(
            { code, password: newPasswordOf(fields), displayName: displayName.data ?? null },
            { address, userAgent: headers['user-agent'] },
          );
          return { session, seeOther: '/app' };
        },
        formHeaders,
        (message) => renderJoinPage(shown, code, message, name.slice(0, 100)),
      );
    },
  },
];
