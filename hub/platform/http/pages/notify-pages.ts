import { appDocument, colorScheme } from './app-document.ts';
import { builtFiles, fileResponse } from './built-files.ts';
import type { Page } from './page.ts';

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  'img-src data:',
  "connect-src 'self'",
  "worker-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "require-trusted-types-for 'script'",
  // The policy of the page allows one address: that of the service worker.
  'trusted-types push-worker',
].join('; ');

/**
 * The page that turns push notifications on, and the service worker that shows them. The page is a document of its own,
 * because the dashboard forbids service workers (`trusted-types 'none'`).
 */
export const notifyPages: Page[] = [
  {
    method: 'GET',
    path: '/app/notify',
    async answer() {
      const { script, style } = builtFiles().notify;
      const html = appDocument({
        id: 'notify',
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
  },
  {
    method: 'GET',
    path: '/app/push-worker.js',
    answer: async ({ headers }) =>
      fileResponse(
        builtFiles().pushWorker,
        { accepted: String(headers['accept-encoding'] ?? ''), known: headers['if-none-match'] },
        // A service worker has the policy of its own response. It only calls the API.
        { 'Content-Security-Policy': "default-src 'none'; connect-src 'self'", 'Cache-Control': 'no-cache' },
      ),
  },
];
