import { pageOf, renderNotice, renderLine } from '../../platform/http/pages/page-layout.ts';
import { linkHeaders } from '../../platform/http/pages/page.ts';
import type { Page, PageResponse } from '../../platform/http/pages/page.ts';
import type { UnsubscribeLinks } from './unsubscribe-links.ts';

function renderUnsubscribePage(contact: { email: string; unsubscribed: boolean }): string {
  if (contact.unsubscribed)
    return renderNotice('You are unsubscribed', `${contact.email} will not receive these mails any more.`);
  return pageOf(
    'Unsubscribe',
    `<h1>Unsubscribe from these mails?</h1><p>They are sent to ${renderLine(contact.email)}.</p><form method="post"><nav><button>Unsubscribe</button></nav></form>`,
  );
}

const invalidLink: PageResponse = {
  status: 404,
  headers: linkHeaders,
  html: renderNotice('This link does not work', 'Reply to the mail instead and ask to be removed from its list.'),
};

/** The unsubscribe page of campaign mails. */
export const marketingPages = (links: UnsubscribeLinks): Page[] => [
  {
    method: 'GET',
    path: '/unsubscribe/:token',
    limit: 'page',
    async answer({ params }) {
      const contact = await links.read(params['token'] as string);
      return contact === null ? invalidLink : { headers: linkHeaders, html: renderUnsubscribePage(contact) };
    },
  },
  // The unsubscribe button of a mail program sends the same request (RFC 8058).
  {
    method: 'POST',
    path: '/unsubscribe/:token',
    limit: 'page',
    answer: async ({ params }) =>
      (await links.unsubscribe(params['token'] as string))
        ? {
            headers: linkHeaders,
            html: renderNotice('You are unsubscribed', 'You will not receive these mails any more.'),
          }
        : invalidLink,
  },
];
