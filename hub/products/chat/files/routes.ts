import { pipeline } from 'node:stream/promises';
import { chatFiles as resource } from '../../../../shared/contract/chat/files.ts';
import { AppError } from '../../../../shared/errors.ts';
import { actorOf } from '../../../platform/http/auth/principal.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { OperationRequest, RawExchange } from '../../../platform/http/routing/implement.ts';
import type { RateLimiter } from '../../../platform/rate-limiter/rate-limiter.ts';
import type { IncomingFiles } from './incoming.ts';
import type { ChatFiles, FileSender, StoredFile } from './service.ts';

export interface ChatFileRoutesDependencies {
  files: ChatFiles;
  incoming: IncomingFiles;
  rateLimiter: RateLimiter;
}

/** Upload limit of one visitor, over all processes. */
const visitorLimit = { limit: 30, windowSeconds: 60 };
/** A download is aborted when the client reads nothing for this long. */
const readerStallMs = 60_000;

export function chatFileRoutes({ files, incoming, rateLimiter }: ChatFileRoutesDependencies) {
  const receive = async (
    sender: FileSender,
    name: string,
    { raw, address, signal, recheck }: Pick<OperationRequest<unknown>, 'raw' | 'address' | 'signal' | 'recheck'>,
  ) => {
    await files.admit(sender);
    using file = await incoming.read(raw, { ...sender, address }, signal);
    // The memory stays reserved until the file is stored.
    return await files.keep(sender, name, file.bytes, { signal, recheck });
  };
  return implement(resource, {
    uploadInboxFile: ({ principal, params, query, ...exchange }) =>
      receive(
        { tenantId: principal.tenantId, conversationId: params.id, sentBy: actorOf(principal) },
        query.name,
        exchange,
      ),
    async getInboxFile({ principal, params, raw, accessRevoked }) {
      await serve(await files.find(principal.tenantId, params.id), raw, accessRevoked);
    },
    async uploadVisitorFile({ principal, query, ...exchange }) {
      const { tenantId, conversationId, visitorId } = principal;
      const state = await rateLimiter.take(`chat-files:${visitorId}`, visitorLimit);
      if (!state.allowed) {
        const retryAfterSeconds = Math.max(1, Math.ceil((state.resetAt.getTime() - Date.now()) / 1000));
        throw new AppError(
          'rate_limited',
          `More than ${visitorLimit.limit} files in a minute; try again in ${retryAfterSeconds} seconds.`,
          { retryAfterSeconds, limit: visitorLimit.limit },
        );
      }
      return receive({ tenantId, conversationId, sentBy: actorOf(principal) }, query.name, exchange);
    },
    async getVisitorFile({ principal, params, raw, accessRevoked }) {
      await serve(await files.findForVisitor(principal, params.id), raw, accessRevoked);
    },
  });
}

/** Sends a file with headers that prevent browsers from running it with the origin of the hub. */
async function serve(file: StoredFile, { request, response }: RawExchange, accessRevoked: AbortSignal): Promise<void> {
  const content = request.method === 'HEAD' ? null : await file.open();
  response.attachment(file.name);
  const disposition = String(response.getHeader('Content-Disposition'));
  response.set({
    'Content-Type': file.contentType === 'text/plain' ? 'text/plain; charset=utf-8' : file.contentType,
    'Content-Length': String(file.bytes),
    'Content-Disposition': /^(?:image|audio)\//.test(file.contentType)
      ? disposition.replace(/^attachment/, 'inline')
      : disposition,
    'Content-Security-Policy': "sandbox; default-src 'none'",
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'private, no-store',
  });
  if (content === null) {
    response.end();
    return;
  }
  // Without a listener, the time-out destroys the connection of a client that does not read.
  response.setTimeout(readerStallMs);
  await pipeline(content, response, { signal: accessRevoked }).catch((error: unknown) => {
    // A client that disconnected needs no error response.
    if (!response.destroyed) throw error;
  });
}
