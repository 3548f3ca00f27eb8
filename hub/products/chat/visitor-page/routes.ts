import { visitorPage as resource } from '../../../../shared/contract/chat/visitor-page.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { VisitorEntry } from './entry.ts';
import { PageConcurrencyLimit } from './page-concurrency-limit.ts';
import type { VisitorChat } from './visitor-chat.ts';

export function visitorPageRoutes({ entry, chat }: { entry: VisitorEntry; chat: VisitorChat }) {
  const pageLimit = new PageConcurrencyLimit();
  return implement(resource, {
    getChatPage: ({ query }) => entry.page(query.siteKey),
    openVisitorSession: ({ body, address }) => entry.open(body, address),
    renewVisitorSession: ({ principal }) => entry.renew(principal),
    endVisitorSession: ({ principal }) => entry.end(principal),
    getVisitorConversation: ({ principal }) => chat.conversation(principal),
    beginVisitorConversation: ({ principal }) => entry.begin(principal),
    async listVisitorMessages({ principal, query, signal }) {
      await pageLimit.acquire(principal.visitorId, signal);
      return chat.messages(principal, query);
    },
    sendVisitorMessage: ({ principal, body }) => chat.send(principal, body),
    readVisitorConversation: ({ principal, body }) => chat.read(principal, body.seq),
    showVisitorTyping: ({ principal, body }) => chat.type(principal, body.typing),
    askForPerson: ({ principal, query }) => chat.askForPerson(principal, query.locale),
    rateVisitorConversation: ({ principal, body }) => chat.rate(principal, body),
  });
}
