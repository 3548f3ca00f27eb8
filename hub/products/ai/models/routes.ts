import { modelConfigurations as resource } from '../../../../shared/contract/ai/models.ts';
import { AppError } from '../../../../shared/errors.ts';
import { actorOf } from '../../../platform/http/auth/principal.ts';
import { expectedVersions, withETag } from '../../../platform/http/routing/if-match.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { RateLimiter } from '../../../platform/rate-limiter/rate-limiter.ts';
import type { Ai } from './models.ts';

const testsPerMinute = 10;

export const modelRoutes = (ai: Ai, rateLimiter: RateLimiter) =>
  implement(resource, {
    getAutomationModels: async ({ principal, raw: { response } }) =>
      withETag(response, await ai.getModels(principal.tenantId)),
    putAutomationModels: async ({ principal, body, headers, raw: { response } }) =>
      withETag(response, await ai.putModels(principal.tenantId, body, actorOf(principal), expectedVersions(headers))),
    // `conclude` is not called: a repeated test sends another request.
    testAutomationModel: async ({ principal, params, signal }) => {
      await limitTests(rateLimiter, principal.tenantId);
      return ai.test(principal.tenantId, params.modelId, signal);
    },
  });

/** Each test costs tokens. @throws AppError `rate_limited`. */
async function limitTests(rateLimiter: RateLimiter, tenantId: string): Promise<void> {
  const { allowed, resetAt } = await rateLimiter.take(`model-tests:${tenantId}`, {
    limit: testsPerMinute,
    windowSeconds: 60,
  });
  if (allowed) return;
  const retryAfterSeconds = Math.max(1, Math.ceil((resetAt.getTime() - Date.now()) / 1_000));
  throw new AppError(
    'rate_limited',
    `A workspace may test models ${testsPerMinute} times per minute; try again in ${retryAfterSeconds} seconds.`,
    { retryAfterSeconds, limit: testsPerMinute },
  );
}
