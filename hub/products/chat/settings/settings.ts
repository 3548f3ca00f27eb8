import { defaultChatSettings } from '../../../../shared/contract/chat/settings.ts';
import type { ChatSettings } from '../../../../shared/contract/chat/settings.ts';
import type { Transaction } from '../../../platform/db/database.ts';

/** How a workspace wants its chat: what it set, and the rest as it comes. */
export async function readSettings(tx: Transaction, tenantId: string): Promise<ChatSettings> {
  const { rows } = await tx.query<{ settings: Partial<ChatSettings> }>(
    'read_chat_settings',
    'SELECT settings FROM chat_widgets WHERE tenant_id = $1',
    [tenantId],
  );
  return completeSettings(rows[0]?.settings);
}

export const completeSettings = (set: Partial<ChatSettings> = {}): ChatSettings => ({ ...defaultChatSettings, ...set });
