import type { ChatSettings } from '../../../../shared/contract/chat/settings.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { Database } from '../../../platform/db/database.ts';
import { answerFile, builtFiles } from '../../../platform/http/pages/built-files.ts';
import { linkHeaders } from '../../../platform/http/pages/page.ts';
import type { Page, PageAnswer } from '../../../platform/http/pages/page.ts';
import { completeSettings } from '../settings/index.ts';
import { renderChatPage } from './chat-page.ts';

/** Whoever embeds the widget, and nobody else, needs them without the headers that keep other sites from the hub. */
const forOtherSites = { 'Cross-Origin-Resource-Policy': 'cross-origin' };

/** The hosted page of a chat, the loader of the widget, and what the built pages load. */
export function chatPages(db: Database): Page[] {
  return [
    {
      method: 'GET',
      path: '/chat',
      limit: 'page',
      async answer({ query, baseUrl }): Promise<PageAnswer> {
        const settings = await readPageSettings(db, query.get('siteKey') ?? '');
        const { html, headers } = renderChatPage({ settings, baseUrl, ...builtFiles().page });
        return {
          status: settings === null ? 404 : 200,
          html,
          headers: { ...linkHeaders, ...forOtherSites, ...headers },
        };
      },
    },
    {
      method: 'GET',
      path: '/widget.js',
      answer: async ({ headers }) =>
        answerFile(
          builtFiles().loader,
          { accepted: headers['accept-encoding'], known: headers['if-none-match'] },
          { ...forOtherSites, 'Cache-Control': 'public, max-age=300', 'Access-Control-Allow-Origin': '*' },
        ),
    },
    {
      method: 'GET',
      path: '/widget/assets/:name',
      async answer({ params, headers }) {
        const file = builtFiles().assets.get(params['name'] ?? '');
        if (file === undefined) throw new AppError('not_found', 'There is no such file.');
        return answerFile(
          file,
          { accepted: headers['accept-encoding'], known: headers['if-none-match'] },
          // The name changes with what is in it.
          { ...forOtherSites, 'Cache-Control': 'public, max-age=31536000, immutable' },
        );
      },
    },
  ];
}

/** How the workspace of a site key wants its chat; null for a key that there is not. */
async function readPageSettings(db: Database, siteKey: string): Promise<ChatSettings | null> {
  if (siteKey === '' || siteKey.length > 100 || siteKey.includes('\0')) return null;
  const [row] = await db.systemStatement<{ settings: Partial<ChatSettings> }>(
    'find_chat_page_settings',
    'SELECT settings FROM chat_widgets WHERE site_key = $1',
    [siteKey],
  );
  return row === undefined ? null : completeSettings(row.settings);
}
