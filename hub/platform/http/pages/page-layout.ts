import { visibleLine, visibleText } from '../../../../shared/visible-text.ts';
import { withAsciiHosts } from '../../ascii-hosts.ts';
import type { PageLocale } from './page-language.ts';

/** Escapes a text for HTML. Names of devices and users are untrusted input. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}

const marked = (name: string) => `<b class="mark">${name}</b>`;

/** Renders a multi-line text as HTML. Misleading characters are marked, and the hosts of URLs are shown. */
export function renderText(text: string): string {
  return visibleText(escapeHtml(withAsciiHosts(text)), marked);
}

/** Renders a text as one line of HTML, like `renderText`. */
export function renderLine(text: string): string {
  return visibleLine(escapeHtml(withAsciiHosts(text)), marked);
}

/**
 * Renders commands that wrap only between words, because a hyphen at the end of a line would look like another option.
 */
export function renderCommands(...commands: string[]): string {
  return `<pre>${commands
    .map((command) =>
      command
        .split(' ')
        .map((word) => `<span>${escapeHtml(word)}</span>`)
        .join(' '),
    )
    .join('\n')}</pre>`;
}

/** Renders a page. `content` is HTML, `title` is text. */
export function pageOf(title: string, content: string, locale: PageLocale = 'en'): string {
  return `<!doctype html>
<html lang="${locale}"${locale === 'ar' ? ' dir="rtl"' : ''}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(visibleLine(title))}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/assets/page.css">
</head>
<body><main>
${content}
</main></body>
</html>
`;
}

/** Renders a page with one message. */
export function renderNotice(title: string, message: string): string {
  return pageOf(title, `<h1>${renderLine(title)}</h1><p>${renderText(message)}</p>`);
}
