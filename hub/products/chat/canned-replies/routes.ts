import { cannedReplies as resource } from '../../../../shared/contract/chat/canned-replies.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { CannedReplies } from './service.ts';

export const cannedReplyRoutes = (replies: CannedReplies) =>
  implement(resource, {
    listCannedReplies: ({ principal, query }) => replies.list(principal.tenantId, query, principal.user),
    createCannedReply: ({ principal, body }) => replies.create(principal.tenantId, body),
    updateCannedReply: ({ principal, params, body }) => replies.update(principal.tenantId, params.id, body),
    deleteCannedReply: ({ principal, params }) => replies.delete(principal.tenantId, params.id),
  });
