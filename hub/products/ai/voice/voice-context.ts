import type { InferenceMessage } from '../../../platform/inference/inference.ts';

/** Messages kept per connection. The prompt may contain fewer, depending on the context of the model. */
const maxMessages = 40;

/** The conversation on one connection, as far as it was heard. It is only in memory and ends with the connection. */
export class VoiceContext {
  #messages: InferenceMessage[] = [];

  get turns(): readonly InferenceMessage[] {
    return this.#messages.filter(({ content }) => content !== '');
  }

  /** Adds a message. @returns the message, whose content may still change while it is spoken. */
  add(role: InferenceMessage['role'], content: string): InferenceMessage {
    const message = { role, content };
    this.#messages = [...this.#messages.slice(1 - maxMessages), message];
    return message;
  }
}
