/** Who looks at a conversation, and who types in it; known for some seconds only, and lost with their process. */
export interface Viewing {
  /** Says that a member looks at a conversation, or does not any more, and whether they type. */
  show(
    tenantId: string,
    conversationId: string,
    member: { userId: string; name: string | null },
    activity: { viewing: boolean; typing: boolean },
  ): void;
  /** Ids of the members who look at it now. */
  viewersOf(tenantId: string, conversationId: string): string[];
}
