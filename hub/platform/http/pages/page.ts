import type { IncomingHttpHeaders } from 'node:http';
import express from 'express';
import type { Request, Response } from 'express';
import { AppError } from '../../../../shared/errors.ts';
import type { AddressLimit, AddressLimiter } from '../auth/address-limits.ts';
import { assertSameOrigin, sessionCookieOf } from '../auth/auth.ts';
import type { OwnHosts } from '../auth/own-hosts.ts';
import { renderNotice } from './page-layout.ts';

/** A request for a page. */
export interface PageRequest {
  params: Record<string, string>;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  /** The caller's address, behind trusted proxies. */
  address: string;
  /** Where the caller reached this hub, such as `https://hub.example.org`. */
  baseUrl: string;
  /** The session that the browser shows, if any; not checked yet. */
  sessionToken: string | null;
  /** Reads the fields of a form, of 16 KiB at most; only a page asked for by POST has one. @throws AppError. */
  form: () => Promise<Record<string, unknown>>;
  /** @throws AppError `origin_not_allowed` unless a page of this hub asks. */
  assertSameOrigin: () => void;
}

export interface PageAnswer {
  /** 200 unless said. */
  status?: number;
  /** Null takes one of the hub's own away. */
  headers?: Record<string, string | null>;
  html?: string;
  /** Bytes as they are, in place of HTML; `Content-Type` stands in `headers`. */
  bytes?: Buffer;
  /** Signs the browser in; null signs it out. */
  session?: { token: string; expiresAt: string } | null;
  /** Sends the browser on to a path of this hub (303). */
  seeOther?: string;
}

/** A page that a product shows beside the API. */
export interface Page {
  method: 'GET' | 'POST';
  /** As Express has it, such as `/approve/:token`. */
  path: string;
  /** What the page at `/` calls it; left out for one that people are led to otherwise. */
  menu?: string;
  /** What of a stranger's requests it counts as. */
  limit?: AddressLimit;
  /** @throws AppError, which is shown as a page. */
  answer: (request: PageRequest) => Promise<PageAnswer>;
}

/** For pages with a form that signs people in or out: with no referrer at all it would not tell its origin, and so could not be told from another site's. */
export const formHeaders = { 'Cache-Control': 'no-store', 'Referrer-Policy': 'same-origin' };

/** For pages whose address is a secret: nobody keeps it, and no site that they lead to is told. */
export const linkHeaders = { 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' };

export interface PageServing {
  limit: AddressLimiter;
  hosts: OwnHosts;
  addressOf: (request: Request) => string;
  /** Whether people reach the hub by https, so that a browser may keep the cookie for that alone. */
  secureCookies: boolean;
}

/** Serves pages. */
export function servePages(router: express.Router, pages: readonly Page[], serving: PageServing): void {
  for (const page of pages)
    router[page.method === 'GET' ? 'get' : 'post'](page.path, async (request, response) => {
      // What a page fetches it names from its own address, which a slash behind it would make another.
      if (page.method === 'GET' && !page.path.endsWith('/') && request.path.endsWith('/')) {
        const { pathname, search } = targetOf(request);
        return response.redirect(308, `../${pathname.split('/').at(-2) ?? ''}${search}`);
      }
      try {
        if (page.limit !== undefined) await serving.limit(page.limit, serving.addressOf(request));
        send(response, await page.answer(requestOf(request, response, serving)), serving);
      } catch (error) {
        // What is ours to mend is answered and logged as everywhere.
        if (!(error instanceof AppError) || error.status >= 500) throw error;
        if (error.retryAfterSeconds !== undefined) response.set('Retry-After', String(error.retryAfterSeconds));
        response.set(linkHeaders);
        const title = error.status === 429 ? 'Not now' : 'That did not work';
        response.status(error.status).type('html').send(renderNotice(title, error.message));
      }
    });
}

const readForm = express.urlencoded({ extended: false, limit: '16kb' });

/** What the parser of forms refuses, in words for whoever sent one; what it did not foresee stays as it is. */
function refusedForm(error: unknown): unknown {
  const status = error instanceof Error && 'status' in error ? error.status : null;
  if (status === 413)
    return new AppError('payload_too_large', 'The form is too large: send 1,000 fields and 16 KiB at most.');
  if (status === 415)
    return new AppError(
      'unsupported_media_type',
      'The form is written in a way that is not understood here: send it in UTF-8, not compressed.',
    );
  if (status === 400)
    return new AppError('validation_failed', 'The form can not be read; fill it in and send it anew.');
  return error;
}

/** What was asked for; after two slashes a host would be read. */
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
          else fail(refusedForm(error));
        });
      }),
    assertSameOrigin: () => assertSameOrigin(request, hosts),
  };
}

function send(response: Response, answer: PageAnswer, { secureCookies, hosts: { sessionCookie } }: PageServing): void {
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
