import { chatEventPayloadOf } from '../../../../shared/contract/chat/chat-events.ts';
import type { ChatEventPayload, ChatEventType } from '../../../../shared/contract/chat/chat-events.ts';
import { toStorableJson } from '../../../../shared/json.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';

/** An event of Live Chat, as its subscribers receive it. */
export interface ChatEvent {
  tenantId: string;
  type: ChatEventType;
  /** The same for every subscriber and every retry. */
  eventId: string;
  payload: JsonObject;
  /** The number of runs that led to the event: 0 for what a person did. */
  depth: number;
}

/** Handles an event in the transaction that caused it. What has to wait for the commit goes into `tx.onCommit`. */
export type ChatEventSubscriber = (tx: Transaction, event: ChatEvent) => Promise<void>;

/**
 * Erases a batch of the data that a product keeps about conversations, in the transaction that removes them. The
 * conversations are locked. An eraser skips rows that other transactions have locked.
 * @returns whether there may be more. Then the transaction commits without removing the conversations, and the eraser
 * is called again in another one.
 */
export type ConversationEraser = (
  tx: Transaction,
  tenantId: string,
  conversationIds: readonly string[],
) => Promise<boolean>;

/** Handles messages that moved into a conversation, in the transaction that moves them. */
export type MovedMessagesHandler = (tx: Transaction, tenantId: string, conversationId: string) => Promise<void>;

/**
 * Delivers the events of Live Chat to the products that subscribe. Products subscribe while they are created: a
 * subscription after the first event is refused, so that no subscriber misses an event.
 */
export class ChatEvents {
  readonly #subscribers: ChatEventSubscriber[] = [];
  readonly #erasers: ConversationEraser[] = [];
  readonly #movedHandlers: MovedMessagesHandler[] = [];
  #isInUse = false;

  /** Calls `subscriber` for each event, after those that subscribed before it. */
  subscribe(subscriber: ChatEventSubscriber): void {
    this.#refuseLate();
    this.#subscribers.push(subscriber);
  }

  /** Calls `eraser` before conversations are removed, after those that were added before it. */
  onErase(eraser: ConversationEraser): void {
    this.#refuseLate();
    this.#erasers.push(eraser);
  }

  /** Calls `handler` after messages moved into a conversation. They have no `message.created` for it. */
  onMessagesMoved(handler: MovedMessagesHandler): void {
    this.#refuseLate();
    this.#movedHandlers.push(handler);
  }

  /**
   * Delivers an event to all subscribers, in the caller's transaction.
   * @throws ZodError when the payload does not match its type.
   */
  async emit(tx: Transaction, type: ChatEventType, payload: ChatEventPayload, depth = 0): Promise<void> {
    this.#isInUse = true;
    const parsed = chatEventPayloadOf(type).parse(payload);
    const event: ChatEvent = {
      tenantId: parsed.tenantId,
      type,
      eventId: newId(),
      payload: toStorableJson(parsed) as JsonObject,
      depth,
    };
    // Concurrently, so that the first statements of all subscribers share a round trip. They reach the database in the
    // order of the subscriptions.
    await Promise.all(this.#subscribers.map((handle) => handle(tx, event)));
  }

  /** Calls the handlers of moved messages. */
  async messagesMoved(tx: Transaction, tenantId: string, conversationId: string): Promise<void> {
    this.#isInUse = true;
    await Promise.all(this.#movedHandlers.map((handle) => handle(tx, tenantId, conversationId)));
  }

  /**
   * Calls the erasers one after the other, in the transaction that removes the conversations, until one has more to
   * erase.
   * @returns whether there may be more. Then commit without removing the conversations, and call it again in another
   * transaction.
   */
  async erase(tx: Transaction, tenantId: string, conversationIds: readonly string[]): Promise<boolean> {
    this.#isInUse = true;
    for (const eraser of this.#erasers) if (await eraser(tx, tenantId, conversationIds)) return true;
    return false;
  }

  #refuseLate(): void {
    if (this.#isInUse)
      throw new Error(
        'A product subscribed to chat events after the first event. Subscribe while the product is created.',
      );
  }
}
