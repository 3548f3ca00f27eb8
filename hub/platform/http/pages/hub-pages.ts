import { readFileSync } from 'node:fs';
import express from 'express';
import type { Authenticator } from '../auth/auth.ts';
import { equals } from '../auth/constant-time.ts';
import { compressedFile, fileResponse, readApiReferenceScript } from './built-files.ts';
import { dashboardPage } from './dashboard-page.ts';
import { notifyPages } from './notify-pages.ts';
import { formHeaders, servePages } from './page.ts';
import type { Page, PageServing } from './page.ts';
import { referenceScript, renderReferencePage } from './reference-page.ts';
import { renderStatusPage } from './status-page.ts';

export interface HubPagesOptions extends PageServing {
  identity: Authenticator;
  /** Metrics of this process, in the text format of Prometheus. */
  metrics: () => Promise<string>;
  metricsToken: string | null;
  version: string;
  /** Returns the names of the parts that are down. */
  down: () => Promise<string[]>;
  /** Public URL of this hub: the first server in the OpenAPI document. */
  publicUrl: string | null;
  /** Pages of the products. */
  pages: readonly Page[];
}

/** The generated document. Generating it at each start would take much of the start time. */
/** Style of the pages that the hub renders itself: the design tokens of all web apps, then its own rules. */
const pageStyles = [
  new URL('../../../../shared/web/tokens.css', import.meta.url),
  new URL('page.css', import.meta.url),
];
const openApiDocument = new URL('../openapi/openapi.json', import.meta.url);

/** Media type of the Prometheus text format. */
const prometheusText = 'text/plain; version=0.0.4; charset=utf-8';

/** Serves the status page, the dashboard, the API reference, the metrics and the pages of the products. */
export function createHubPages(options: HubPagesOptions): express.Router {
  const router = express.Router();
  const parsed = JSON.parse(readFileSync(openApiDocument, 'utf8')) as { servers: { url: string }[] };
  // The first server is this hub.
  if (options.publicUrl !== null && parsed.servers[0] !== undefined) parsed.servers[0].url = options.publicUrl;
  const document = JSON.stringify(parsed);

  const menu = options.pages.flatMap(({ path, menu: label }) => (label === undefined ? [] : [{ path, label }]));
  const statusPage: Page = {
    method: 'GET',
    path: '/',
    limit: 'page',
    async answer({ sessionToken, baseUrl }) {
      const session =
        sessionToken === null ? null : await options.identity.authenticateSession(sessionToken).catch(() => null);
      if (session !== null) return { headers: formHeaders, seeOther: '/app' };
      const down = await options.down();
      return {
        headers: formHeaders,
        html: renderStatusPage({ version: options.version, baseUrl, ready: down.length === 0, down, menu }),
      };
    },
  };
  servePages(router, [statusPage, ...notifyPages, dashboardPage, ...options.pages], options);

  /** Serves a file that is read and compressed at its first request, once per process. */
  const serveFile = (path: string, type: string, headers: Record<string, string>, read: () => Buffer) => {
    let file: ReturnType<typeof compressedFile> | undefined;
    router.get(path, async (request, response) => {
      file ??= compressedFile(type, read());
      const { 'accept-encoding': accepted, 'if-none-match': known } = request.headers;
      const page = fileResponse(await file, { accepted: String(accepted ?? ''), known }, headers);
      for (const [name, value] of Object.entries(page.headers ?? {}))
        if (value !== null) response.setHeader(name, value);
      response.status(page.status ?? 200).end(page.bytes);
    });
  };
  const script = 'text/javascript; charset=utf-8';
  serveFile('/openapi.json', 'application/json; charset=utf-8', { 'Access-Control-Allow-Origin': '*' }, () =>
    Buffer.from(document),
  );
  // The reference creates inline styles, so only this page allows them. It cannot load from or call other hosts.
  const referencePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'";
  serveFile('/docs', 'text/html; charset=utf-8', { 'Content-Security-Policy': referencePolicy }, () =>
    Buffer.from(renderReferencePage()),
  );
  const forMinutes = { 'Cache-Control': 'public, max-age=300' };
  serveFile('/assets/page.css', 'text/css; charset=utf-8', forMinutes, () =>
    Buffer.concat(pageStyles.map((file) => readFileSync(file))),
  );
  serveFile('/assets/docs.js', script, forMinutes, () => Buffer.from(referenceScript));
  serveFile('/assets/scalar.js', script, { 'Cache-Control': 'public, max-age=86400' }, () => readApiReferenceScript());

  router.get('/metrics', async (request, response) => {
    const { metricsToken } = options;
    if (
      metricsToken === null
        ? !options.hosts.isLocal(request)
        : !equals(request.headers.authorization ?? '', `Bearer ${metricsToken}`)
    ) {
      response
        .status(401)
        .type('text')
        .send(
          'This requires METRICS_TOKEN as Authorization: Bearer. If it is not set, only the machine of the hub has access.\n',
        );
      return;
    }
    response.type(prometheusText).send(await options.metrics());
  });
  return router;
}
