import type { z } from 'zod';
import type { chatPeople as resource } from '../../../../shared/contract/chat/people.ts';
import type { ChatSettings } from '../../../../shared/contract/chat/settings.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { recordAudit } from '../../core/audit/index.ts';
import { completeSettings } from './settings.ts';
import { siteKeyOf } from './site-key.ts';

type Patch = z.output<typeof resource.putChatSettings.body>;
type Answer = z.output<typeof resource.getChatSettings.response>;

interface WidgetRow {
  site_key: string;
  settings: Partial<ChatSettings>;
  settings_changed_at: Date | null;
}

const columns = 'site_key, settings, settings_changed_at';

/** The chat settings of workspaces. */
export class ChatSettingsService {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** @param baseUrl of the widget's script. */
  async show(tenantId: string, baseUrl: string): Promise<Answer> {
    const known = await this.#db.read(tenantId, (tx) => readWidget(tx, tenantId));
    if (known !== undefined) return present(known, baseUrl);
    const made = await this.#db.workspace(tenantId, async (tx) => {
      await siteKeyOf(tx, tenantId);
      return readWidget(tx, tenantId);
    });
    if (made === undefined) throw new Error('a site key was not written');
    return present(made, baseUrl);
  }

  /** Changes the given settings only, so that concurrent changes of other settings are kept. */
  async change(tenantId: string, patch: Patch, actor: string, baseUrl: string): Promise<Answer> {
    const row = await this.#db.workspace(tenantId, async (tx) => {
      await siteKeyOf(tx, tenantId);
      const [{ rows }] = await Promise.all([
        tx.query<WidgetRow>(
          'change_chat_settings',
          `UPDATE chat_widgets SET settings = settings || $2::jsonb, settings_changed_at = clock_timestamp()
           WHERE tenant_id = $1 RETURNING ${columns}`,
          [tenantId, JSON.stringify(patch)],
        ),
        recordAudit(tx, {
          tenantId,
          actor,
          action: 'chat_settings.updated',
          targetType: 'chat_settings',
          targetId: tenantId,
          details: { changed: Object.keys(patch) },
        }),
      ]);
      return rows[0];
    });
    if (row === undefined) throw new Error('settings were not written');
    return present(row, baseUrl);
  }
}

async function readWidget(tx: Transaction, tenantId: string): Promise<WidgetRow | undefined> {
  const { rows } = await tx.query<WidgetRow>(
    'read_chat_widget',
    `SELECT ${columns} FROM chat_widgets WHERE tenant_id = $1`,
    [tenantId],
  );
  return rows[0];
}

const present = (row: WidgetRow, baseUrl: string): Answer => ({
  ...completeSettings(row.settings),
  siteKey: row.site_key,
  snippet: `<script async src="${baseUrl}/widget.js" data-site-key="${row.site_key}"></script>`,
  updatedAt: row.settings_changed_at?.toISOString() ?? null,
});
