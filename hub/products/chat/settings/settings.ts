import { defaultChatSettings } from '../../../../shared/contract/chat/settings.ts';
import type { ChatSettings } from '../../../../shared/contract/chat/settings.ts';
import type { Transaction } from '../../../platform/db/database.ts';

/** The chat settings of a workspace: stored values, completed with defaults. */
export async function readSettings(tx: Transaction, tenantId: string): Promise<ChatSettings> {
  const { rows } = await tx.query<{ settings: Partial<ChatSettings> }>(
    'read_chat_settings',
    'SELECT settings FROM chat_widgets WHERE tenant_id = $1',
    [tenantId],
  );
  return completeSettings(rows[0]?.settings);
}

export const completeSettings = (set: Partial<ChatSettings> = {}): ChatSettings => ({ ...defaultChatSettings, ...set });
