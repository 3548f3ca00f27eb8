import { pageOf, renderNotice, shownLine } from '../../platform/http/pages/page-layout.ts';
import { linkHeaders } from '../../platform/http/pages/page.ts';
import type { Page, PageAnswer } from '../../platform/http/pages/page.ts';
import type { UnsubscribeLinks } from './unsubscribe-links.ts';

function renderUnsubscribePage(contact: { email: string; unsubscribed: boolean }): string {
  if (contact.unsubscribed)
    return renderNotice('You are unsubscribed', `${contact.email} gets no more of these mails.`);
  return pageOf(
    'Unsubscribe',
    `<h1>No more of these mails?</h1><p>They go to ${shownLine(contact.email)}.</p><form method="post"><nav><button>Unsubscribe</button></nav></form>`,
  );
}

const deadLink: PageAnswer = {
  status: 404,
  headers: linkHeaders,
  html: renderNotice('This link does not work', 'Answer the mail instead, and ask to be taken off its list.'),
};

/** The page on which the reader of a campaign takes themselves off its list. */
export const marketingPages = (links: UnsubscribeLinks): Page[] => [
  {
    method: 'GET',
    path: '/unsubscribe/:token',
    limit: 'page',
    async answer({ params }) {
      const contact = await links.read(params['token'] as string);
      return contact === null ? deadLink : { headers: linkHeaders, html: renderUnsubscribePage(contact) };
    },
  },
  // A mail program's own button sends this as well (RFC 8058).
  {
    method: 'POST',
    path: '/unsubscribe/:token',
    limit: 'page',
    answer: async ({ params }) =>
      (await links.unsubscribe(params['token'] as string))
        ? { headers: linkHeaders, html: renderNotice('You are unsubscribed', 'No more of these mails will come.') }
        : deadLink,
  },
];
