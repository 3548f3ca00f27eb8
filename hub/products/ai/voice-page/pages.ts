import { builtFiles } from '../../../platform/http/built-files.ts';
import type { BuiltFiles } from '../../../platform/http/built-files.ts';
import { formHeaders } from '../../../platform/http/page.ts';
import type { Page } from '../../../platform/http/page.ts';

/**
 * The page on which a person speaks with the AI agent. It is the same for everybody: who is signed in it finds out by the cookie, which its script can't read
 * and the browser adds to what it asks, the WebSocket included.
 */
export const voicePages: Page[] = [
  {
    method: 'GET',
    path: '/voice',
    menu: 'Speak with the AI agent',
    limit: 'page',
    answer: async ({ baseUrl }) => renderVoicePage(baseUrl, builtFiles().voice),
  },
];

function renderVoicePage(baseUrl: string, { script, style, capture }: BuiltFiles['voice']) {
  const sockets = new URL(baseUrl).origin.replace(/^http/, 'ws');
  const policy = [
    "default-src 'none'",
    // What listens to the microphone is a script, too.
    "script-src 'self'",
    "style-src 'self'",
    'img-src data:',
    // Older browsers do not count sockets to it.
    `connect-src 'self' ${sockets}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
    // Signs the person out.
    "form-action 'self'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
  const html = `<!doctype html>
<html lang="en" data-capture="widget/assets/${capture}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, interactive-widget=resizes-content">
<meta name="robots" content="noindex, nofollow">
<title>Voice</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="widget/assets/${style}">
<script type="module" src="widget/assets/${script}"></script>
</head>
<body>
<div id="voice"></div>
<noscript><p>This page needs JavaScript.</p></noscript>
</body>
</html>
`;
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
