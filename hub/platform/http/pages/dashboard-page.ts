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
    const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, interactive-widget=resizes-content">
<meta name="robots" content="noindex, nofollow">
<meta name="color-scheme" content="light dark">
<title>Outrigger</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/widget/assets/${style}">
<script type="module" src="/widget/assets/${script}"></script>
</head>
<body>
<div id="dashboard"></div>
<noscript><p>This page needs JavaScript.</p></noscript>
</body>
</html>
`;
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
