import type { ChatSettings } from '../../../../shared/contract/chat/settings.ts';
import { appDocument } from '../../../platform/http/pages/app-document.ts';
import { escapeHtml } from '../../../platform/http/pages/page-layout.ts';

export interface ChatPageOptions {
  /** Null if the site key is unknown. */
  settings: ChatSettings | null;
  /** Address under which the visitor reaches this hub. */
  baseUrl: string;
  /** Names of the built files. */
  script: string;
  style: string;
}

/**
 * The chat page with its security headers. The page may load built files, call the hub, and be framed by the origins
 * that the workspace allows. It always opens in its own tab.
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
    // The page shows files of a conversation through blob URLs.
    'media-src blob:',
    // Older browsers do not include WebSockets in 'self'.
    `connect-src 'self' ${sockets}`,
    `frame-ancestors ${origins.length === 0 ? "'none'" : origins.join(' ')}`,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
  const html = appDocument({
    id: 'chat',
    title: escapeHtml(settings?.title ?? 'Chat'),
    style: `widget/assets/${style}`,
    script: `widget/assets/${script}`,
    attributes: ` lang="${settings?.locale ?? 'en'}" data-locale="${settings?.locale ?? ''}" data-colour="${settings?.colour ?? ''}" data-origins="${escapeHtml(origins.join(' '))}"`,
    head: '<meta name="referrer" content="no-referrer">\n',
    noScript: 'This chat needs JavaScript.',
  });
  return {
    html,
    headers: {
      'Content-Security-Policy': policy,
      // This header cannot list origins. The policy above does.
      'X-Frame-Options': null,
      'X-Robots-Tag': 'noindex, nofollow',
      // Cross-origin isolated sites embed only frames that send this header.
      'Cross-Origin-Embedder-Policy': 'require-corp',
    },
  };
}
