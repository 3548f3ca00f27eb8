/** Who does something in a chat, and whether it is one of a test. */
export interface ChatActor {
  /** `token:<id>`, `user:<id>`, `visitor:<id>`, `ai` or `system`. */
  actor: string;
  environment: 'live' | 'test';
}
