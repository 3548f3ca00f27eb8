import { appDocument, colorScheme } from './app-document.ts';
import { builtFiles } from './built-files.ts';
import type { Page } from './page.ts';

/**
 * The dashboard: one document for all addresses below `/app`. It is the same for every caller, signed in or not, because
 * a browser does not send the session cookie with a link from another site. The script reads the session afterwards.
 */
export const dashboardPage: Page = {
  method: 'GET',
  path: '/app{/*page}',
  async answer({ baseUrl }) {
    const { script, style } = builtFiles().dashboard;
    const sockets = new URL(baseUrl).origin.replace(/^http/, 'ws');
    const policy = [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self' data: blob:",
      "media-src 'self' blob:",
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
      id: 'dashboard',
      title: 'Outrigger',
      style: `/widget/assets/${style}`,
      script: `/widget/assets/${script}`,
      head: colorScheme,
    });
    return {
      html,
      headers: {
        'Content-Security-Policy': policy,
        'Cache-Control': 'no-cache',
        'Referrer-Policy': 'same-origin',
        'X-Frame-Options': 'DENY',
        'X-Robots-Tag': 'noindex, nofollow',
      },
    };
  },
};
