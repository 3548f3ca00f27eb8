import { defaultChatAiSettings } from '../../../../shared/contract/chat/ai-settings.ts';
import type { ChatAiSettings } from '../../../../shared/contract/chat/ai-settings.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { authorsAfter } from '../../../platform/field-authors.ts';
import type { FieldAuthors } from '../../../platform/field-authors.ts';
import { recordAudit } from '../../core/audit/index.ts';
import { siteKeyOf } from './site-key.ts';

/** The AI settings of a workspace: stored values, completed with defaults. */
export interface AiSettingsNow {
  settings: ChatAiSettings;
  updatedAt: Date | null;
}

interface Row {
  ai_settings: Partial<ChatAiSettings>;
  ai_settings_changed_at: Date | null;
}

const completeAiSettings = (set: Partial<ChatAiSettings> = {}): ChatAiSettings => ({
  ...defaultChatAiSettings,
  ...set,
});

const present = (row: Row | undefined): AiSettingsNow => ({
  settings: completeAiSettings(row?.ai_settings),
  updatedAt: row?.ai_settings_changed_at ?? null,
});

export async function readAiSettings(tx: Transaction, tenantId: string): Promise<AiSettingsNow> {
  const { rows } = await tx.query<Row>(
    'read_ai_settings',
    'SELECT ai_settings, ai_settings_changed_at FROM chat_widgets WHERE tenant_id = $1',
    [tenantId],
  );
  return present(rows[0]);
}

/**
 * The user who last changed each setting of the AI prompt: tools, business description and tone.
 */
export async function readAiSettingsAuthors(tx: Transaction, tenantId: string): Promise<string[]> {
  const { rows } = await tx.query<{ actor: string }>(
    'read_ai_settings_authors',
    `SELECT DISTINCT f.value AS actor FROM chat_widgets c, jsonb_each_text(c.ai_settings_authors) f
     WHERE c.tenant_id = $1 AND f.key IN ('tools', 'businessProfile', 'tone')`,
    [tenantId],
  );
  return rows.map(({ actor }) => actor);
}

/** Changes the given settings only, so that concurrent changes of other settings are kept. */
export async function changeAiSettings(
  tx: Transaction,
  tenantId: string,
  patch: Partial<ChatAiSettings>,
  actor: string,
): Promise<AiSettingsNow> {
  await siteKeyOf(tx, tenantId);
  const before = await tx.query<{ values: Partial<ChatAiSettings>; authors: FieldAuthors }>(
    'lock_ai_settings',
    'SELECT ai_settings AS values, ai_settings_authors AS authors FROM chat_widgets WHERE tenant_id = $1 FOR NO KEY UPDATE',
    [tenantId],
  );
  const authors = authorsAfter(before.rows[0] ?? null, patch, actor);
  const [{ rows }] = await Promise.all([
    tx.query<Row>(
      'change_ai_settings',
      `UPDATE chat_widgets SET ai_settings = ai_settings || $2::jsonb, ai_settings_authors = $3, ai_settings_changed_at = clock_timestamp()
       WHERE tenant_id = $1 RETURNING ai_settings, ai_settings_changed_at`,
      [tenantId, JSON.stringify(patch), JSON.stringify(authors)],
    ),
    recordAudit(tx, {
      tenantId,
      actor,
      action: 'chat_ai_settings.updated',
      targetType: 'chat_ai_settings',
      targetId: tenantId,
      details: { changed: Object.keys(patch) },
    }),
  ]);
  return present(rows[0]);
}
