import { commandLines } from '../../process/command-lines.ts';
import { escapeHtml, pageOf, renderCommands, renderLine } from './page-layout.ts';

export interface StatusPage {
  version: string;
  /** URL under which the caller reached this hub. */
  baseUrl: string;
  ready: boolean;
  /** Names of the parts that are down. */
  down: string[];
  /** Pages of the products. */
  menu: readonly { path: string; label: string }[];
}

/** Renders the page at `/` for browsers that are not signed in: the state of the hub, the next steps and links. */
export function renderStatusPage({ version, baseUrl, ready, down, menu }: StatusPage): string {
  const state = ready
    ? '<span class="state">Up and ready</span>'
    : `<span class="state down">Not ready: ${renderLine(down.join(', '))}</span>`;
  const links = menu.map(({ path, label }) => `<a href="${escapeHtml(path)}">${escapeHtml(label)}</a>`).join('');
  return pageOf(
    'Outrigger',
    `<h1>Outrigger</h1>
<p>An automation hub with companion nodes. Version ${renderLine(version)}.</p>
<p>${state}</p>
<h2>Sign in</h2>
<p><a href="/sign-in">Sign in with a password</a> (<a href="/forgot-password">Forgot your password?</a>), or create a one-time link on the command line:</p>
${renderCommands(`${commandLines.hub} link`)}
<h2>Pair a machine</h2>
${renderCommands(`${commandLines.hub} node pair`, `${commandLines.companion} pair CODE --hub ${baseUrl}`)}
<h2>Call the API</h2>
${renderCommands(`${commandLines.hub} token create --product automations`)}
<nav>${links}<a href="/docs">API reference</a><a href="/openapi.json">OpenAPI document</a><a href="/readyz">Readiness</a></nav>`,
  );
}
