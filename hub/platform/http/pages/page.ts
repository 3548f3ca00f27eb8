import type { IncomingHttpHeaders } from 'node:http';
import express from 'express';
import type { Request, Response } from 'express';
import { AppError } from '../../../../shared/errors.ts';
import type { AddressLimit, AddressLimiter } from '../auth/address-limits.ts';
import { assertSameOrigin, sessionCookieOf } from '../auth/auth.ts';
import type { OwnHosts } from '../auth/own-hosts.ts';
import { rateLimitHeaders } from '../routing/errors.ts';
import { renderNotice } from './page-layout.ts';

/** A request for a page. */
export interface PageRequest {
  params: Record<string, string>;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  /** The caller's address, behind trusted proxies. */
  address: string;
  /** URL under which the caller reached this hub, for example `https://hub.example.org`. */
  baseUrl: string;
  /** The session cookie, not verified; null without one. */
  sessionToken: string | null;
  /** Reads the fields of a form of at most 16 KiB; for POST requests. @throws AppError. */
  form: () => Promise<Record<string, unknown>>;
  /** @throws AppError `origin_not_allowed` unless the request comes from a page of this hub. */
  assertSameOrigin: () => void;
}

export interface PageResponse {
  /** Default 200. */
  status?: number;
  /** Null removes a default header of the hub. */
  headers?: Record<string, string | null>;
  html?: string;
  /** The body, instead of `html`. `headers` has its `Content-Type`. */
  bytes?: Buffer;
  /** Signs the browser in; null signs it out. */
  session?: { token: string; expiresAt: string } | null;
  /** Redirects the browser to a path of this hub (303). */
  seeOther?: string;
}

/** A page of a product. */
export interface Page {
  method: 'GET' | 'POST';
  /** Path pattern of Express, for example `/approve/:token`. */
  path: string;
  /** Label in the menu of the page at `/`; without it the page is not in the menu. */
  menu?: string;
  /** Limits requests by address. */
  limit?: AddressLimit;
  /** @throws AppError, which is rendered as a page. */
  answer: (request: PageRequest) => Promise<PageResponse>;
}

/**
 * For pages with a form that signs users in or out. With `no-referrer` the browser would send the origin `null`, and
 * `assertSameOrigin` would refuse the form.
 */
export const formHeaders = { 'Cache-Control': 'no-store', 'Referrer-Policy': 'same-origin' };

/** For pages whose URL is a secret: the page is not cached, and linked sites do not receive its URL. */
export const linkHeaders = { 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' };

export interface PageServing {
  limit: AddressLimiter;
  hosts: OwnHosts;
  addressOf: (request: Request) => string;
  /** Whether the hub is reached by https, so that cookies can be `Secure`. */
  secureCookies: boolean;
}

export function servePages(router: express.Router, pages: readonly Page[], serving: PageServing): void {
  for (const page of pages)
    router[page.method === 'GET' ? 'get' : 'post'](page.path, async (request, response) => {
      // Pages load their assets by relative URLs, which a trailing slash would change.
      if (page.method === 'GET' && !page.path.endsWith('/') && request.path.endsWith('/')) {
        const { pathname, search } = targetOf(request);
        return response.redirect(308, `../${pathname.split('/').at(-2) ?? ''}${search}`);
      }
      try {
        if (page.limit !== undefined) await serving.limit(page.limit, serving.addressOf(request));
        send(response, await page.answer(requestOf(request, response, serving)), serving);
      } catch (error) {
        // Server errors are handled and logged like those of the API.
        if (!(error instanceof AppError) || error.status >= 500) throw error;
        if (error.retryAfterSeconds !== undefined) response.set('Retry-After', String(error.retryAfterSeconds));
        if (error.status === 429) response.set(rateLimitHeaders(error));
        response.set(linkHeaders);
        const title = error.status === 429 ? 'Too many requests' : 'That did not work';
        response.status(error.status).type('html').send(renderNotice(title, error.message));
      }
    });
}

const readForm = express.urlencoded({ extended: false, limit: '16kb' });

/** Converts an error of the form parser into an `AppError`. Returns an unknown error unchanged. */
function toFormError(error: unknown): unknown {
  const status = error instanceof Error && 'status' in error ? error.status : null;
  if (status === 413)
    return new AppError('payload_too_large', 'The form is too large: send at most 1,000 fields and 16 KiB.');
  if (status === 415)
    return new AppError(
      'unsupported_media_type',
      'The encoding of the form is not supported: send it in UTF-8 and uncompressed.',
    );
  if (status === 400)
    return new AppError('validation_failed', 'The form cannot be read; fill it in and send it again.');
  return error;
}

/** Parses the URL of a request. A path that starts with two slashes would be parsed as a host. */
const targetOf = ({ url }: Request): URL => new URL(url.replace(/^\/+/, '/'), 'http://hub');

function requestOf(request: Request, response: Response, { hosts, addressOf }: PageServing): PageRequest {
  return {
    params: { ...request.params } as Record<string, string>,
    query: targetOf(request).searchParams,
    headers: request.headers,
    address: addressOf(request),
    baseUrl: hosts.baseUrlOf(request),
    sessionToken: sessionCookieOf(request, hosts),
    form: () =>
      new Promise((done, fail) => {
        readForm(request, response, (error?: unknown) => {
          if (error === undefined) done((request.body ?? {}) as Record<string, unknown>);
          else fail(toFormError(error));
        });
      }),
    assertSameOrigin: () => assertSameOrigin(request, hosts),
  };
}

function send(
  response: Response,
  answer: PageResponse,
  { secureCookies, hosts: { sessionCookie } }: PageServing,
): void {
  for (const [name, value] of Object.entries(answer.headers ?? {}))
    if (value === null) response.removeHeader(name);
    else response.set(name, value);
  const cookie = { httpOnly: true, sameSite: 'strict', secure: secureCookies, path: '/' } as const;
  if (answer.session === null) response.clearCookie(sessionCookie, cookie);
  else if (answer.session !== undefined)
    response.cookie(sessionCookie, answer.session.token, { ...cookie, expires: new Date(answer.session.expiresAt) });
  if (answer.seeOther !== undefined) response.redirect(303, answer.seeOther);
  else if (answer.bytes !== undefined) response.status(answer.status ?? 200).end(answer.bytes);
  else
    response
      .status(answer.status ?? 200)
      .type('html')
      .send(answer.html ?? '');
}
