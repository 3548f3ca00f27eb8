/** Views that the list offers besides those of one member and of one visitor. */
export const inboxViews = [
  'mine',
  'unassigned',
  'open',
  'unread',
  'pending',
  'snoozed',
  'resolved',
  'closed',
  'all',
] as const;
export type InboxView = (typeof inboxViews)[number];

/** What the address of the inbox names. */
export interface InboxSearch {
  /** The view of the list; `open` when omitted. */
  view?: InboxView;
  /** Shows the conversations that are assigned to this member instead of a view. */
  member?: string;
  /** Searches messages and notes instead of a view. */
  q?: string;
  /** The open conversation. */
  conversation?: string;
  /** Position of the message that the thread shows first; the newest when omitted. */
  at?: number;
  /** Phones and small windows show the visitor instead of the messages. */
  panel?: 'visitor';
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const idOf = (value: unknown) => (typeof value === 'string' && uuid.test(value) ? value : undefined);

/** Reads the address. Unknown and malformed values are ignored. */
export function readInboxSearch(search: Record<string, unknown>): InboxSearch {
  const { q, at, panel } = search;
  const view = inboxViews.find((name) => name === search['view']);
  const member = idOf(search['member']);
  const conversation = idOf(search['conversation']);
  return {
    ...(view === undefined ? {} : { view }),
    ...(member === undefined ? {} : { member }),
    ...(typeof q === 'string' || typeof q === 'number' ? { q: String(q).slice(0, 200) } : {}),
    ...(conversation === undefined ? {} : { conversation }),
    ...(conversation !== undefined && Number.isSafeInteger(at) && (at as number) > 0 ? { at: at as number } : {}),
    ...(conversation !== undefined && panel === 'visitor' ? { panel } : {}),
  };
}
