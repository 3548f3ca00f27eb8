import type { ChatSettings } from '../../../../shared/contract/chat/settings.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { Database } from '../../../platform/db/database.ts';
import { fileResponse, builtFiles } from '../../../platform/http/pages/built-files.ts';
import { linkHeaders } from '../../../platform/http/pages/page.ts';
import type { Page, PageResponse } from '../../../platform/http/pages/page.ts';
import { completeSettings } from '../settings/index.ts';
import { renderChatPage } from './chat-page.ts';

/** Other sites embed these files, so they are sent without the headers that block cross-origin use. */
const forOtherSites = { 'Cross-Origin-Resource-Policy': 'cross-origin' };

/** Serves the hosted chat page, the loader of the widget, and the built files. */
export function chatPages(db: Database): Page[] {
  return [
    {
      method: 'GET',
      path: '/chat',
      limit: 'page',
      async answer({ query, baseUrl }): Promise<PageResponse> {
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
        fileResponse(
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
        if (file === undefined) throw new AppError('not_found', 'This file does not exist.');
        return fileResponse(
          file,
          { accepted: headers['accept-encoding'], known: headers['if-none-match'] },
          // The file name contains a hash of the content.
          { ...forOtherSites, 'Cache-Control': 'public, max-age=31536000, immutable' },
        );
      },
    },
  ];
}

/** Reads the chat settings of a site key. Returns null for an unknown key. */
async function readPageSettings(db: Database, siteKey: string): Promise<ChatSettings | null> {
  if (siteKey === '' || siteKey.length > 100 || siteKey.includes('\0')) return null;
  const [row] = await db.systemStatement<{ settings: Partial<ChatSettings> }>(
    'find_chat_page_settings',
    'SELECT settings FROM chat_widgets WHERE site_key = $1',
    [siteKey],
  );
  return row === undefined ? null : completeSettings(row.settings);
}
