import { chatEventPayloadOf } from '../../../../shared/contract/chat/chat-events.ts';
import type { ChatEventPayload, ChatEventType } from '../../../../shared/contract/chat/chat-events.ts';
import { toStorableJson } from '../../../../shared/json.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import type { ChatEvent, ChatEventFollower } from '../../../product.ts';

/** The port through which Live Chat tells what happened, and through which whoever follows hears of it. */
export interface ChatEvents {
  /**
   * Tells all followers, in the caller's transaction; call what it answers after the commit.
   * @throws ZodError when the payload is not what its type promises.
   */
  emit(tx: Transaction, type: ChatEventType, payload: ChatEventPayload, depth?: number): Promise<() => void>;
}

export function createChatEvents(followers: readonly ChatEventFollower[]): ChatEvents {
  return {
    async emit(tx, type, payload, depth = 0) {
      const parsed = chatEventPayloadOf(type).parse(payload);
      const event: ChatEvent = {
        tenantId: parsed.tenantId,
        type,
        eventId: newId(),
        payload: toStorableJson(parsed) as JsonObject,
        depth,
      };
      // Side by side: what each looks up first goes out together.
      const after = await Promise.all(followers.map((follow) => follow(tx, event)));
      return () => after.forEach((committed) => committed());
    },
  };
}
