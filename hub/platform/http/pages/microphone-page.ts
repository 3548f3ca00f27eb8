import { formHeaders } from './page.ts';
import type { PageAnswer } from './page.ts';

/** A page whose script was built, and that may use the microphone. */
export interface MicrophonePage {
  /** Where the caller reached this hub, such as `https://hub.example.org`. */
  baseUrl: string;
  /** The id of the element in which it draws. */
  name: string;
  title: string;
  script: string;
  style: string;
  /** The script that listens in a thread of its own, where there is one. */
  capture?: string;
}

/** A page that is the same for everybody, loads nothing from elsewhere, is framed nowhere and listens for itself alone. */
export function microphonePage({ baseUrl, name, title, script, style, capture }: MicrophonePage): PageAnswer {
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
<html lang="en"${capture === undefined ? '' : ` data-capture="widget/assets/${capture}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, interactive-widget=resizes-content">
<meta name="robots" content="noindex, nofollow">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="widget/assets/${style}">
<script type="module" src="widget/assets/${script}"></script>
</head>
<body>
<div id="${name}"></div>
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
