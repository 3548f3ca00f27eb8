import { visibleLine, visibleText } from '../../../../shared/visible-text.ts';
import { withAsciiHosts } from '../../ascii-hosts.ts';

/** Escapes a text for HTML. Names of devices and people are untrusted input. */
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

/**
 * Style of the server-rendered pages. It is a separate file, so that the content security policy can forbid inline
 * styles.
 */
export const pageStyle = `
:root { color-scheme: light dark; --mono: ui-monospace, "SF Mono", Menlo, Consolas, monospace; --ink: #14213d; --soft: #5b6785; --paper: #f7f8fb; --card: #fff; --line: #dfe4ee; --shade: #e9edf5; --accent: #1d5fd1; --good: #12805c; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8ecf6; --soft: #9aa7c4; --paper: #0f1420; --card: #171e2e; --line: #2a3450; --shade: #1c2438; --accent: #7db0ff; --good: #5ed3a6; --bad: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; display: grid; grid-template-columns: minmax(0, 44rem); place-content: center; padding: 1.5rem; overflow-wrap: anywhere; }
main { background: var(--card); border: 1px solid var(--line); border-radius: 16px; padding: clamp(1.25rem, 5vw, 2.75rem); }
h1 { margin: 0 0 .25rem; font-size: clamp(1.5rem, 5vw, 2rem); letter-spacing: -.02em; }
h2 { font-size: 1rem; margin: 2rem 0 .5rem; }
p { margin: .5rem 0; color: var(--soft); }
.state { display: inline-flex; align-items: center; gap: .5rem; font-weight: 600; color: var(--good); }
.state.down { color: var(--bad); }
.state::before { content: ""; flex: none; width: .65rem; height: .65rem; border-radius: 50%; background: currentColor; }
pre { margin: .5rem 0; padding: .85rem 1rem; border-radius: 10px; background: var(--paper); border: 1px solid var(--line); white-space: pre-wrap; font: 14px/1.5 var(--mono); }
pre span { white-space: nowrap; }
a { color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px; }
nav { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; margin-top: 2rem; padding-top: 1.25rem; border-top: 1px solid var(--line); }
button { font: inherit; font-weight: 600; padding: .65rem 1.25rem; border: 0; border-radius: 10px; background: var(--accent); color: var(--card); cursor: pointer; }
button.quiet { background: transparent; color: var(--bad); box-shadow: inset 0 0 0 1px currentColor; }
dl { margin: .5rem 0; border: 1px solid var(--line); border-radius: 10px; overflow: hidden; background: var(--paper); }
dt { padding: .65rem 1rem 0; font-size: .8rem; color: var(--soft); }
dd { margin: 0; padding: 0 1rem .65rem; }
dd ol { margin: 0; padding-left: 2.25rem; }
dd li::marker { font-size: .8rem; color: var(--soft); }
code { font: 14px/1.7 var(--mono); white-space: break-spaces; background: var(--shade); border-radius: 4px; box-decoration-break: clone; -webkit-box-decoration-break: clone; padding: .1em .25em; }
dd + dt { border-top: 1px solid var(--line); }
.message { white-space: pre-wrap; }
.mark { font: 600 .8em var(--mono); color: var(--card); background: var(--bad); border-radius: 4px; padding: 0 .3em; }
.failed { color: var(--bad); font-weight: 600; }
.small { font-size: .85rem; margin-top: 1.25rem; }
label { display: block; margin-bottom: .25rem; color: var(--ink); }
input, textarea { width: 100%; margin-bottom: .5rem; font: inherit; color: var(--ink); background: var(--paper); border: 1px solid var(--soft); border-radius: 10px; padding: .65rem .85rem; }
`;

/** Renders a page. `content` is HTML, `title` is text. */
export function pageOf(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
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
