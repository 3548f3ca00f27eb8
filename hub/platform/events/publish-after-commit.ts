import { afterCommit } from '../db/joined-transaction.ts';
import type { Events } from './events.ts';

/** The same events, but what is published within a joined transaction is told once that is committed, and never when it is not. */
export function publishAfterCommit(events: Events): Events {
  return {
    publish(topic, payload) {
      let told = Promise.resolve();
      afterCommit(() => {
        told = events.publish(topic, payload);
      });
      return told;
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
