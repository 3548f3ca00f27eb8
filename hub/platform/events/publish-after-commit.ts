import { afterCommit } from '../db/joined-transaction.ts';
import type { Events } from './events.ts';

/**
 * Wraps `events` so that an event within a joined transaction is published after the commit, and not at all after a
 * rollback.
 */
export function publishAfterCommit(events: Events): Events {
  return {
    publish(topic, payload) {
      afterCommit(() => events.publish(topic, payload));
    },
    subscribe: (topic, listener) => events.subscribe(topic, listener),
    subscribeFamily: (family, listener) => events.subscribeFamily(family, listener),
    onReconnect: (listener) => events.onReconnect(listener),
    get isInterrupted() {
      return events.isInterrupted;
    },
    [Symbol.asyncDispose]: () => events[Symbol.asyncDispose](),
  };
}
