import { z } from 'zod';
import { id } from '../common.ts';
import { defineResource } from '../define.ts';
import { agent, oneInWorkspace, visitorOnly } from './callers.ts';
import { attachment, chatText, maxFileBytes } from './shapes.ts';

/** Files of conversations, from both sides. */

export const chatFiles = defineResource({
  uploadInboxFile: {
    ...agent,
    method: 'POST',
    path: '/tenants/{tenantId}/chat/conversations/{id}/files',
    summary: 'Send a file, for a message to come',
    description:
      'The body is the file; `name` its name. Pictures, PDF, text and sound of at most 10 MiB, told by their content. What no message names within a day is removed.',
    params: oneInWorkspace,
    query: z.strictObject({ name: chatText(1, 200) }),
    upload: true,
    bodyLimitBytes: maxFileBytes,
    response: attachment,
    errors: ['payload_too_large', 'unsupported_media_type', 'storage_full'],
  },
  getInboxFile: {
    ...agent,
    method: 'GET',
    path: '/tenants/{tenantId}/chat/files/{id}',
    summary: 'Download a file of a conversation',
    params: oneInWorkspace,
    binaryResponse: 'application/octet-stream',
    response: z.any(),
  },
  uploadVisitorFile: {
    ...visitorOnly,
    method: 'POST',
    path: '/widget/v1/files',
    summary: 'Send a file, for a message to come',
    description:
      'As agents send theirs. Of one visitor 2,000 files are kept, which take 1 GiB or 5 % of the room of the workspace, whichever is less; the last tenth of that room is for its agents.',
    query: z.strictObject({ name: chatText(1, 200) }),
    upload: true,
    bodyLimitBytes: maxFileBytes,
    response: attachment,
    errors: ['payload_too_large', 'unsupported_media_type', 'storage_full', 'conversation_closed', 'rate_limited'],
  },
  getVisitorFile: {
    ...visitorOnly,
    method: 'GET',
    path: '/widget/v1/files/{id}',
    summary: 'Download a file of the conversation',
    description:
      'One of its messages, or one that the visitor sent. Pictures and sound are shown in place, all else is saved.',
    params: z.strictObject({ id }),
    binaryResponse: 'application/octet-stream',
    response: z.any(),
  },
});
