import { checkParts } from '../check-parts.ts';
import type { PartCheck } from '../check-parts.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Platform } from '../open-platform.ts';
import { createAddressLimiter, createGuessLimiter, RefusalLimiter } from './auth/address-limits.ts';
import type { Authenticator, DeviceAuthenticator, VisitorAuthenticator } from './auth/auth.ts';
import { clientAddress } from './auth/client-address.ts';
import { createDeviceLimiter } from './auth/device-limits.ts';
import { createOwnHosts } from './auth/own-hosts.ts';
import { SocketRights } from './auth/socket-rights.ts';
import { LiveStreams } from './live/live-streams.ts';
import type { LongPollRoute } from './live/long-polls.ts';
import type { SocketRoute } from './live/sockets.ts';
import { createHubPages } from './pages/hub-pages.ts';
import type { Page } from './pages/page.ts';
import type { BodyLimits } from './routing/body-timeout.ts';
import { createIdempotency } from './routing/idempotency.ts';
import type { Route } from './routing/implement.ts';
import type { LingerLimits } from './routing/send-json.ts';
import { createHttpServer } from './server.ts';
import { systemRoutes } from './system-routes.ts';

export interface ServeSettings {
  http: {
    host: string;
    port: number;
    publicUrl: string | null;
    trustedProxies: string[];
    validateResponses: boolean;
    metricsToken: string | null;
    shutdownMs: number;
  };
  limits: { perKey: number; hook: number; device: number; signIn: number };
  streams: { perWorkspace: number; perKey: number };
  secrets: { platformAdminKey: string | null };
}

/** The HTTP interfaces of a product. */
interface ServedProduct {
  routes?: readonly Route[];
  sockets?: readonly SocketRoute[];
  longPolls?: readonly LongPollRoute[];
  pages?: readonly Page[];
}

export interface ServeOptions {
  version: string;
  identity: Authenticator;
  devices: DeviceAuthenticator;
  visitors: VisitorAuthenticator;
  products: readonly ServedProduct[];
  metrics: Metrics;
  checks: Record<string, PartCheck>;
  /** Names of the parts whose failure only degrades the hub. */
  optionalParts: readonly string[];
  /** Time limits for request bodies; set by tests. */
  bodyLimits?: BodyLimits | undefined;
  /** Time limits for the rest of a request body after an early response; set by tests. */
  lingerLimits?: LingerLimits | undefined;
}

/**
 * Serves the API and the pages until `stack` is disposed. Returns the URL.
 * @throws AppError when the port is in use.
 */
export async function serveHttp(
  stack: AsyncDisposableStack,
  { db, events, secrets, rateLimiter, answerMemory, incomingMemory, bodyMemory, logger, tracing }: Platform,
  { http, limits, streams, secrets: { platformAdminKey } }: ServeSettings,
  {
    version,
    identity,
    devices,
    visitors,
    products,
    metrics,
    checks,
    optionalParts,
    bodyLimits,
    lingerLimits,
  }: ServeOptions,
): Promise<string> {
  let url: string | null = null;
  const check = () => checkParts(checks);
  const limitAddress = createAddressLimiter(rateLimiter, limits);
  const hosts = createOwnHosts({
    publicUrl: http.publicUrl,
    host: http.host,
    listensAt: () => url ?? `http://${http.host}:${http.port}`,
  });
  const server = createHttpServer({
    routes: [...systemRoutes({ version, check, optionalParts }), ...products.flatMap(({ routes = [] }) => routes)],
    sockets: products.flatMap(({ sockets = [] }) => sockets),
    longPolls: products.flatMap(({ longPolls = [] }) => longPolls),
    pages: createHubPages({
      identity,
      pages: products.flatMap(({ pages = [] }) => pages),
      metrics: metrics.text,
      metricsToken: http.metricsToken,
      hosts,
      limit: limitAddress,
      addressOf: (request) => clientAddress(request, http.trustedProxies),
      secureCookies: http.publicUrl?.startsWith('https:') === true,
      version,
      publicUrl: http.publicUrl,
      down: async () => Object.entries(await check()).flatMap(([name, part]) => (part.ok ? [] : [name])),
    }),
    auth: {
      identity,
      devices,
      visitors,
      platformAdminKey,
      hosts,
      refusals: new RefusalLimiter(rateLimiter, limits.perKey),
    },
    socketRights: stack.use(new SocketRights({ auth: { identity, visitors }, events, logger })),
    idempotency: createIdempotency(db, secrets),
    streams: stack.use(new LiveStreams({ events, visitors, limits: streams, logger })),
    answerMemory,
    incomingMemory,
    bodyMemory,
    rateLimiter,
    tracing,
    limitAddress,
    adminKeyGuesses: createGuessLimiter(rateLimiter),
    limitDevice: createDeviceLimiter(rateLimiter, limits.device),
    logger,
    publicUrl: http.publicUrl,
    trustedProxies: http.trustedProxies,
    limits,
    ...(bodyLimits === undefined ? {} : { bodyLimits }),
    ...(lingerLimits === undefined ? {} : { lingerLimits }),
    validateResponses: http.validateResponses,
    onFinished: (operation, status, seconds) =>
      metrics.requests.observe({ operation, status: String(status) }, seconds),
  });
  url = await server.listen(http.host, http.port);
  stack.defer(() => server.drain(http.shutdownMs));
  return url;
}
