import { appDocument } from './app-document.ts';
import { formHeaders } from './page.ts';
import type { PageResponse } from './page.ts';

/** A page with a built script that may use the microphone. */
export interface MicrophonePage {
  /** URL under which the caller reached this hub, for example `https://hub.example.org`. */
  baseUrl: string;
  /** Id of the element in which the script renders. */
  name: string;
  title: string;
  script: string;
  style: string;
  /** The audio worklet for the microphone, if the page has one. */
  capture?: string;
}

/**
 * Renders a page that is the same for every caller, loads nothing from other hosts, cannot be framed, and does not
 * share its microphone with other origins.
 */
export function microphonePage({ baseUrl, name, title, script, style, capture }: MicrophonePage): PageResponse {
  const sockets = new URL(baseUrl).origin.replace(/^http/, 'ws');
  const policy = [
    "default-src 'none'",
    // The audio worklet counts as a script.
    "script-src 'self'",
    "style-src 'self'",
    'img-src data:',
    // In older browsers, 'self' does not include WebSockets.
    `connect-src 'self' ${sockets}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
    // The sign-out form.
    "form-action 'self'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
  const html = appDocument({
    id: name,
    title,
    style: `widget/assets/${style}`,
    script: `widget/assets/${script}`,
    attributes: ` lang="en"${capture === undefined ? '' : ` data-capture="widget/assets/${capture}"`}`,
  });
  return {
    html,
    headers: {
      'Content-Security-Policy': policy,
      'Permissions-Policy': 'microphone=(self), camera=(), geolocation=()',
      ...formHeaders,
      'X-Frame-Options': 'DENY',
      'X-Robots-Tag': 'noindex, nofollow',
    },
  };
}
