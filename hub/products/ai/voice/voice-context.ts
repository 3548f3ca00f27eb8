import type { InferenceMessage } from '../../../platform/inference/inference.ts';

/** What is remembered of a connection; the window of the model cuts it further. */
const maxMessages = 40;

/** What was said on one connection, as far as both heard it. It is kept in memory, and goes with the connection. */
export class VoiceContext {
  #messages: InferenceMessage[] = [];

  get turns(): readonly InferenceMessage[] {
    return this.#messages.filter(({ content }) => content !== '');
  }

  /** Answers a place whose words can still change, while they are being heard. */
  add(role: InferenceMessage['role'], content: string): InferenceMessage {
    const message = { role, content };
    this.#messages = [...this.#messages.slice(1 - maxMessages), message];
    return message;
  }
}
