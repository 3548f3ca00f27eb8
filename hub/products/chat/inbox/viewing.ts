/** The current viewers of conversations. The state is in memory and expires after some seconds. */
export interface Viewing {
  /** Publishes whether a member views a conversation and types in it. */
  show(
    tenantId: string,
    conversationId: string,
    member: { userId: string; name: string | null },
    activity: { viewing: boolean; typing: boolean },
  ): void;
  /** User ids of the current viewers. */
  viewersOf(tenantId: string, conversationId: string): string[];
}
