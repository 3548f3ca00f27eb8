import type { ChatSettings } from '../../../../shared/contract/chat/settings.ts';
import { escapeHtml } from '../../../platform/http/pages/page-layout.ts';

export interface ChatPageOptions {
  /** Null where the site key is nobody's. */
  settings: ChatSettings | null;
  /** Where the visitor reaches this hub. */
  baseUrl: string;
  /** Names of the built files. */
  script: string;
  style: string;
}

/**
 * The page of a chat, and the headers that say what it may do: load what the hub built, speak to the hub, and stand in
 * frames of the origins that the
 * workspace allowed. By itself, in a tab of its own, it always opens.
 */
export function renderChatPage({ settings, baseUrl, script, style }: ChatPageOptions): {
  html: string;
  headers: Record<string, string | null>;
} {
  const origins = settings?.allowedOrigins ?? [];
  const sockets = new URL(baseUrl).origin.replace(/^http/, 'ws');
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' blob: data:",
    // Files of a conversation, as the page makes them out of what it was answered.
    'media-src blob:',
    // Older browsers do not count sockets to it.
    `connect-src 'self' ${sockets}`,
    `frame-ancestors ${origins.length === 0 ? "'none'" : origins.join(' ')}`,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
  const html = `<!doctype html>
<html lang="${settings?.locale ?? 'en'}" data-locale="${settings?.locale ?? ''}" data-colour="${settings?.colour ?? ''}" data-origins="${escapeHtml(origins.join(' '))}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, interactive-widget=resizes-content">
<meta name="robots" content="noindex, nofollow">
<meta name="referrer" content="no-referrer">
<title>${escapeHtml(settings?.title ?? 'Chat')}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="widget/assets/${style}">
<script type="module" src="widget/assets/${script}"></script>
</head>
<body>
<div id="chat"></div>
<noscript><p>This chat needs JavaScript.</p></noscript>
</body>
</html>
`;
  return {
    html,
    headers: {
      'Content-Security-Policy': policy,
      // It knows no list of origins; the policy above says who may.
      'X-Frame-Options': null,
      'X-Robots-Tag': 'noindex, nofollow',
      // For hosts that are isolated and take only frames that are, too.
      'Cross-Origin-Embedder-Policy': 'require-corp',
    },
  };
}
