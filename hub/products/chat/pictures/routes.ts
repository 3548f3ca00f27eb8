import { pipeline } from 'node:stream/promises';
import { maxPictureBytes, memberPictureResource as resource } from '../../../../shared/contract/chat/pictures.ts';
import { AppError } from '../../../../shared/errors.ts';
import { actorOf } from '../../../platform/http/auth/principal.ts';
import type { Principal } from '../../../platform/http/auth/principal.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { OperationRequest, RawExchange } from '../../../platform/http/routing/implement.ts';
import type { RateLimiter } from '../../../platform/rate-limiter/rate-limiter.ts';
import type { IncomingFiles } from '../files/index.ts';
import type { MemberPictures, PictureOwner, ServedPicture } from './service.ts';

export interface MemberPictureRoutesDependencies {
  pictures: MemberPictures;
  incoming: IncomingFiles;
  rateLimiter: RateLimiter;
}

/** Uploads of one user, over all processes. */
const uploadLimit = { limit: 10, windowSeconds: 60 };
/** A connection that takes no bytes for this long is closed, in milliseconds. */
const readerStallMs = 60_000;
/**
 * Time for which browsers may show a picture without a request, in seconds. A deleted picture can stay visible for this
 * long.
 */
const cacheSeconds = 3_600;

export function memberPictureRoutes({ pictures, incoming, rateLimiter }: MemberPictureRoutesDependencies) {
  const receive = async (
    owner: PictureOwner,
    { raw, address, signal, recheck }: Pick<OperationRequest<unknown>, 'raw' | 'address' | 'signal' | 'recheck'>,
  ) => {
    const state = await rateLimiter.take(`pictures:${owner.tenantId}:${owner.actor}`, uploadLimit);
    if (!state.allowed) {
      const retryAfterSeconds = Math.max(1, Math.ceil((state.resetAt.getTime() - Date.now()) / 1000));
      throw new AppError(
        'rate_limited',
        `More than ${uploadLimit.limit} pictures in a minute; try again in ${retryAfterSeconds} seconds.`,
        { retryAfterSeconds, limit: uploadLimit.limit },
      );
    }
    await pictures.assertMember(owner);
    const sender = { tenantId: owner.tenantId, sentBy: owner.actor, address };
    using file = await incoming.read(raw, sender, signal, maxPictureBytes);
    // The memory stays reserved until the picture is stored.
    return await pictures.put(owner, file.bytes, { signal, recheck });
  };
  const ofOwn = (principal: Extract<Principal, { kind: 'session' }>): PictureOwner => ({
    tenantId: principal.tenantId,
    userId: principal.user.id,
    actor: actorOf(principal),
  });
  return implement(resource, {
    putMyPicture: ({ principal, ...exchange }) => receive(ofOwn(principal), exchange),
    deleteMyPicture: ({ principal }) => pictures.delete(ofOwn(principal)),
    putMemberPicture: ({ principal, params, ...exchange }) =>
      receive({ ...ofOwn(principal), userId: params.userId.toLowerCase() }, exchange),
    deleteMemberPicture: ({ principal, params }) =>
      pictures.delete({ ...ofOwn(principal), userId: params.userId.toLowerCase() }),
    async getMemberPicture({ params, raw, accessRevoked }) {
      await serve(await pictures.find(params.id), raw, accessRevoked);
    },
  });
}

/** Sends a picture with headers under which a browser treats it as nothing but a picture. */
async function serve(
  picture: ServedPicture,
  { request, response }: RawExchange,
  accessRevoked: AbortSignal,
): Promise<void> {
  const content = request.method === 'HEAD' ? null : await picture.open();
  response.set({
    'Content-Type': picture.contentType,
    'Content-Length': String(picture.bytes),
    'Content-Disposition': 'inline',
    'Content-Security-Policy': "sandbox; default-src 'none'",
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': `public, max-age=${cacheSeconds}, immutable`,
    // Dashboards on other origins may show it, also those that isolate themselves.
    'Cross-Origin-Resource-Policy': 'cross-origin',
  });
  if (content === null) {
    response.end();
    return;
  }
  // Without a listener, the time-out destroys the connection of a client that does not read.
  response.setTimeout(readerStallMs);
  await pipeline(content, response, { signal: accessRevoked }).catch((error: unknown) => {
    // A closed connection needs no answer.
    if (!response.destroyed) throw error;
  });
}
