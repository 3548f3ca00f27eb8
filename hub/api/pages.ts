import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import express from 'express';
import type { Registry } from 'prom-client';
import { AppError } from '../../shared/errors.ts';
import type { ApprovalLinks } from '../modules/approvals/index.ts';
import type { Identity } from '../modules/identity/index.ts';
import type { Marketing } from '../modules/marketing/index.ts';
import type { AddressLimit, AddressLimiter } from './address-limits.ts';
import { assertSameOrigin, cookieOf, equals, sessionCookie } from './auth.ts';
import { renderApprovalPage, renderNotice, renderUnsubscribePage } from './link-pages.ts';
import type { OwnHosts } from './own-hosts.ts';
import { openApiDocument } from './openapi.ts';
import {
  docsScript,
  pageStyle,
  renderDocsPage,
  renderSignInFailure,
  renderSignInPage,
  renderStatusPage,
} from './status-page.ts';

export interface PagesOptions {
  identity: Identity;
  approvalLinks: ApprovalLinks;
  marketing: Marketing;
  registry: Registry;
  metricsToken: string | null;
  hosts: OwnHosts;
  limit: AddressLimiter;
  /** Where a request comes from, behind trusted proxies. */
  addressOf: (request: express.Request) => string;
  /** Whether people reach the hub by https, so that a browser may keep the cookie for that alone. */
  secureCookies: boolean;
  version: string;
  /** Names of the parts that are down now. */
  down: () => Promise<string[]>;
}

const scalarScript = join(
  dirname(createRequire(import.meta.url).resolve('@scalar/api-reference')),
  'browser',
  'standalone.js',
);

/** What the hub shows beside its API. */
export function createPages(options: PagesOptions): express.Router {
  const pages = express.Router();
  const document = JSON.stringify(openApiDocument());
  const limited =
    (kind: AddressLimit): express.RequestHandler =>
    async (request, response, next) => {
      try {
        await options.limit(kind, options.addressOf(request));
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        if (error.retryAfterSeconds !== undefined) response.set('Retry-After', String(error.retryAfterSeconds));
        response.status(error.status).type('html').send(renderNotice('Not now', error.message));
        return;
      }
      next();
    };

  pages.get('/', limited('page'), async (request, response) => {
    const down = await options.down();
    const cookie = cookieOf(request, sessionCookie);
    const session = cookie === null ? null : await options.identity.authenticateSession(cookie).catch(() => null);
    const signedIn = session === null ? null : { email: session.user.email, workspaceName: session.workspaceName };
    response
      .status(200)
      .set('Cache-Control', 'no-store')
      .type('html')
      .send(renderStatusPage({ version: options.version, ready: down.length === 0, down, signedIn }));
  });

  pages.get('/sign-in', (request, response) => {
    const code = typeof request.url === 'string' ? new URL(request.url, 'http://hub').searchParams.get('code') : null;
    // With no referrer at all the form would not tell its origin, and so could not be told from another site's.
    response
      .set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'same-origin' })
      .type('html')
      .send(
        code === null
          ? renderSignInFailure('This link has no code; make a new one with: npm run outrigger -- link')
          : renderSignInPage(code.slice(0, 200)),
      );
  });

  pages.post(
    '/sign-in',
    limited('sign-in'),
    express.urlencoded({ extended: false, limit: '4kb' }),
    async (request, response) => {
      try {
        assertSameOrigin(request, options.hosts);
        const { code } = (request.body ?? {}) as { code?: unknown };
        const session = await options.identity.redeemLink(
          typeof code === 'string' ? code : '',
          options.addressOf(request),
        );
        response.cookie(sessionCookie, session.token, {
          httpOnly: true,
          sameSite: 'strict',
          secure: options.secureCookies,
          expires: new Date(session.expiresAt),
          path: '/',
        });
        response.redirect(303, '/');
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        response.status(error.status).type('html').send(renderSignInFailure(error.message));
      }
    },
  );

  pages.use(['/approve', '/unsubscribe'], limited('page'));
  const linkHeaders = { 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' };
  pages.get('/approve/:token', async (request, response) => {
    const found = await options.approvalLinks.read(request.params.token);
    response
      .set(linkHeaders)
      .status(found === null ? 404 : 200)
      .type('html')
      .send(
        found === null
          ? renderNotice('This link does not work', 'It was replaced by a newer one, or never was one.')
          : renderApprovalPage(found),
      );
  });
  // Only a form decides: programs that look into mails open every link in them.
  pages.post('/approve/:token', express.urlencoded({ extended: false, limit: '16kb' }), async (request, response) => {
    const { decision, note } = (request.body ?? {}) as { decision?: unknown; note?: unknown };
    response.set(linkHeaders).type('html');
    try {
      if (decision !== 'approved' && decision !== 'rejected')
        throw new AppError('validation_failed', 'Choose one of the two buttons.');
      const found = await options.approvalLinks.decide(
        request.params.token,
        decision,
        typeof note === 'string' && note !== '' ? note.slice(0, 2000) : undefined,
      );
      response.send(renderApprovalPage(found));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      response.status(error.status).send(renderNotice("That can't be done", error.message));
    }
  });

  pages.get('/unsubscribe/:token', async (request, response) => {
    const contact = await options.marketing.readUnsubscribe(request.params.token);
    response
      .set(linkHeaders)
      .status(contact === null ? 404 : 200)
      .type('html')
      .send(
        contact === null
          ? renderNotice('This link does not work', 'Answer the mail instead, and ask to be taken off its list.')
          : renderUnsubscribePage(contact),
      );
  });
  // A mail program's own button sends this as well (RFC 8058).
  pages.post('/unsubscribe/:token', async (request, response) => {
    const done = await options.marketing.unsubscribe(request.params.token);
    response
      .set(linkHeaders)
      .status(done ? 200 : 404)
      .type('html')
      .send(
        done
          ? renderNotice('You are unsubscribed', 'No more of these mails will come.')
          : renderNotice('This link does not work', 'Answer the mail instead, and ask to be taken off its list.'),
      );
  });

  pages.get('/openapi.json', (_request, response) => {
    response.set('Access-Control-Allow-Origin', '*').type('json').send(document);
  });

  pages.get('/docs', (_request, response) => {
    // The reference builds its styles in the page; only this page may, and even it loads and calls nothing elsewhere.
    response
      .set(
        'Content-Security-Policy',
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'",
      )
      .type('html')
      .send(renderDocsPage());
  });

  const asset = (path: string, type: string, content: string) =>
    pages.get(path, (_request, response) => {
      response.set('Cache-Control', 'public, max-age=300').type(type).send(content);
    });
  asset('/assets/page.css', 'css', pageStyle);
  asset('/assets/docs.js', 'js', docsScript);
  pages.get('/assets/scalar.js', (_request, response) => {
    response.set('Cache-Control', 'public, max-age=86400').type('js').sendFile(scalarScript, { dotfiles: 'allow' });
  });

  pages.get('/metrics', async (request, response) => {
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
          'This needs METRICS_TOKEN as Authorization: Bearer; without one it answers the machine of the hub alone.\n',
        );
      return;
    }
    response.type(options.registry.contentType).send(await options.registry.metrics());
  });
  return pages;
}
