import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { chatPeople as resource } from '../../../../shared/contract/chat/people.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database } from '../../../platform/db/database.ts';
import { actorOf } from '../../../platform/http/auth/principal.ts';
import { readerStallMs } from '../../../platform/http/live/event-stream.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { ChatSettingsService } from '../settings/index.ts';
import type { Erasure } from './erasure.ts';
import { listRatings } from './ratings.ts';
import { searchMessages } from './search.ts';
import { exportVisitor } from './visitor-export.ts';
import type { Visitors } from './visitors.ts';

export interface PeopleServices {
  db: Database;
  cursors: Cursors;
  visitors: Visitors;
  erasure: Erasure;
  settings: ChatSettingsService;
}

export const peopleRoutes = (services: PeopleServices) => {
  const { db, visitors, erasure, settings } = services;
  return implement(resource, {
    searchInbox: ({ principal, query }) => searchMessages(services, principal.tenantId, query),
    listInboxVisitors: ({ principal, query }) => visitors.list(principal.tenantId, query),
    getInboxVisitor: ({ principal, params }) => visitors.show(principal.tenantId, params.id),
    updateInboxVisitor: ({ principal, params, body }) =>
      visitors.update(principal.tenantId, params.id, body, actorOf(principal)),
    blockInboxVisitor: ({ principal, params }) => visitors.block(principal.tenantId, params.id, actorOf(principal)),
    unblockInboxVisitor: ({ principal, params }) => visitors.unblock(principal.tenantId, params.id, actorOf(principal)),
    async exportInboxVisitor({ principal, params, accessRevoked, raw: { request, response } }) {
      const lines = await exportVisitor(db, principal.tenantId, params.id, actorOf(principal));
      response.attachment(`visitor-${params.id}.jsonl`);
      response.set({ 'Content-Type': 'application/x-ndjson', 'Cache-Control': 'no-store' });
      if (request.method === 'HEAD') {
        response.end();
        return undefined;
      }
      // Without a listener, the time-out destroys the connection of a client that does not read.
      response.setTimeout(readerStallMs);
      await pipeline(Readable.from(lines), response, { signal: accessRevoked }).catch((error: unknown) => {
        // A client that disconnected needs no error response.
        if (!response.destroyed) throw error;
      });
      return undefined;
    },
    eraseInboxVisitor: ({ principal, params }) => erasure.erase(principal.tenantId, params.id, actorOf(principal)),
    listChatRatings: ({ principal, query }) => listRatings(services, principal.tenantId, query),
    getChatSettings: ({ principal, baseUrl }) => settings.show(principal.tenantId, baseUrl),
    putChatSettings: ({ principal, body, baseUrl }) =>
      settings.change(principal.tenantId, body, actorOf(principal), baseUrl),
  });
};
