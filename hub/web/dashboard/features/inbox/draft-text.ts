import type { ChatAttachment } from '../../../../../shared/client/operations.ts';

export type DraftKind = 'reply' | 'note';

/** A reply or a note that is not sent. */
export interface DraftText {
  content: string;
  files: readonly ChatAttachment[];
  /** Files that are being uploaded. */
  uploads: number;
  /** `seq` of the newest message when the agent began to write; null for an empty text, or if only `seenAt` is known. */
  seenSeq: number | null;
  /** When another browser saved the text: later replies are unread. */
  seenAt: string | null;
}

/** A text that is being sent. */
export interface Outgoing extends DraftText {
  kind: DraftKind;
  clientId: string;
  sentAt: string;
}

/** What the browser keeps until the texts are sent. */
export interface StoredDraft {
  kind: DraftKind;
  reply: DraftText;
  note: DraftText;
  /** In the order in which they are sent. */
  outgoing: readonly Outgoing[];
  isSaved: boolean;
  /** The text that the hub has, and since when. */
  saved: { kind: DraftKind; at: string } | null;
}

export const emptyText: DraftText = { content: '', files: [], uploads: 0, seenSeq: null, seenAt: null };

export const isBlank = ({ content, files }: DraftText): boolean => content.trim() === '' && files.length === 0;
export const kindOf = (isPrivate: boolean): DraftKind => (isPrivate ? 'note' : 'reply');
export const newClientId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');

/** Whether a text is the one that returned, unchanged. */
export function isSame(
  returned: Outgoing,
  { kind, content, files }: Pick<Outgoing, 'kind' | 'content' | 'files'>,
): boolean {
  const idsOf = (each: DraftText['files']) => each.map(({ id }) => id).join();
  return returned.kind === kind && returned.content === content && idsOf(returned.files) === idsOf(files);
}

/** A text that returned, in front of what the agent has written since. */
export function joinTexts(returned: DraftText, written: DraftText): DraftText {
  const content = written.content === '' ? returned.content : `${returned.content}\n\n${written.content}`;
  const { seenSeq, seenAt } = returned;
  return { content, files: [...returned.files, ...written.files], uploads: written.uploads, seenSeq, seenAt };
}

/** All texts of a kind that returned, in front of what the agent has written since. */
export const joinOutgoing = (outgoing: readonly Outgoing[], kind: DraftKind, written: DraftText): DraftText =>
  outgoing.filter((each) => each.kind === kind).reduceRight((text, each) => joinTexts(each, text), written);

/** A text without the one that returned, which the hub has after all. */
export function withoutReturned(text: DraftText, { content, files }: DraftText): DraftText {
  const isPart = text.content.startsWith(content);
  return {
    ...text,
    content: isPart ? text.content.slice(content.length).trimStart() : text.content,
    files: text.files.filter(({ id }) => !files.some((file) => file.id === id)),
  };
}

/** After this time, the conversation may no longer show that a text of a closed tab arrived, so it would be sent twice. */
const maxOutgoingAgeMs = 7 * 24 * 3_600_000;

/**
 * Reads what the browser kept. Files cannot be kept: the hub deletes those of no message. A text that was being sent is
 * part of the draft again, unless another tab still sends it, or its tab was closed more than a week ago.
 */
export function readStoredDraft(
  value: string | null,
  { isSentElsewhere = false, now = Date.now() }: { isSentElsewhere?: boolean; now?: number } = {},
): (StoredDraft & { hasExpired: boolean }) | null {
  try {
    const stored = JSON.parse(value ?? 'null') as StoredDraft | null;
    if (typeof stored?.reply?.content !== 'string' || typeof stored.note?.content !== 'string') return null;
    // Dashboards before November 28, 2026 kept one text or null.
    const all = [stored.outgoing ?? []].flat();
    const sending = all
      .filter(({ sentAt }) => now - Date.parse(sentAt) < maxOutgoingAgeMs)
      .map((each) => ({ ...each, files: [] }));
    const textOf = (kind: DraftKind): DraftText => {
      const text = { ...stored[kind], files: [], uploads: 0 };
      return isSentElsewhere ? text : joinOutgoing(sending, kind, text);
    };
    return {
      ...stored,
      outgoing: sending,
      reply: textOf('reply'),
      note: textOf('note'),
      isSaved: stored.isSaved && sending.length === 0,
      hasExpired: sending.length < all.length,
    };
  } catch {
    return null;
  }
}
