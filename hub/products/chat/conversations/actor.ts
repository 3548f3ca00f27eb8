/** Who does something in a chat, and whether it is one of a test. */
export interface ChatActor {
  /** `token:<id>`, `user:<id>`, `visitor:<id>`, `ai` or `system`. */
  actor: string;
  /** Null for whoever does as the conversation does. */
  environment: 'live' | 'test' | null;
}
