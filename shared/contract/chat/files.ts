import { z } from 'zod';
import { id } from '../common.ts';
import { defineResource } from '../define.ts';
import { agent, oneInWorkspace, visitorOnly } from './callers.ts';
import { attachment, chatText, maxFileBytes } from './shapes.ts';

/** Files of conversations, from agents and visitors. */

export const chatFiles = defineResource({
  uploadInboxFile: {
    ...agent,
    method: 'POST',
    path: '/tenants/{tenantId}/chat/conversations/{id}/files',
    summary: 'Upload a file for a message',
    description:
      'The body is the file, `name` its file name. Accepts images, PDF, text and audio up to 10 MiB; the type is detected from the content. Files that no message contains are deleted after one day.',
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
    description:
      'Also returns files of private notes and files that no message contains yet. Images and audio are sent inline, other types as attachments.',
    params: oneInWorkspace,
    binaryResponse: 'application/octet-stream',
    response: z.any(),
  },
  uploadVisitorFile: {
    ...visitorOnly,
    method: 'POST',
    path: '/widget/v1/files',
    summary: 'Upload a file for a message as the visitor',
    description:
      'The rules are those for files of agents. Limits for each visitor: 2,000 files, and 1 GiB or 5 % of the storage of the workspace, whichever is less. The last 10 % of the storage are reserved for agents.',
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
      'Files of its messages and files that the visitor uploaded. Images and audio are sent inline, other types as attachments.',
    params: z.strictObject({ id }),
    binaryResponse: 'application/octet-stream',
    response: z.any(),
  },
});
