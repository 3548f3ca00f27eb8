import { addressOf, ApiError } from '../../../../../shared/client/client.ts';
import type { ChatAttachment } from '../../../../../shared/client/operations.ts';
import { fetchAsUser } from '../../app/api.ts';

interface ErrorAnswer {
  code?: string;
  message?: string;
}

/**
 * Uploads a file for a message. The client of the API sends JSON only. The request has no `Idempotency-Key`: the hub does
 * not compare the bytes, so it would answer another file with the first one, and it would keep a transaction open for the
 * whole upload. An upload is never repeated by itself, and the hub deletes files that no message has.
 */
export async function uploadFile(params: { tenantId: string; id: string }, file: File): Promise<ChatAttachment> {
  const { method, url } = addressOf('', 'uploadInboxFile', { params, query: { name: file.name.slice(-200) } });
  const response = await fetchAsUser(url, {
    method,
    headers: { 'content-type': 'application/octet-stream' },
    body: file,
  });
  if (response.ok) return (await response.json()) as ChatAttachment;
  throw new ApiError(response.status, (await response.json().catch(() => ({}))) as ErrorAnswer);
}

export const fileAddress = (tenantId: string, id: string): string =>
  addressOf('', 'getInboxFile', { params: { tenantId, id } }).url;
