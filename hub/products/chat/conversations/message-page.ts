/**
 * Bytes of message text in one page. A page ends before the message that would exceed the limit, but has at least one
 * message.
 */
export const maxPageBytes = 256 * 1024;

/** A row of a page, with the number of messages that matched before the byte limit. */
type Paged<Row> = Row & { found: number };

/**
 * SQL for the messages that fit into a page.
 * @param messages SQL for the ordered messages, one more than the page may hold.
 * @param bytes SQL for the byte limit of the page.
 */
export const pageText = (messages: string, order: string, bytes = String(maxPageBytes)): string =>
  `SELECT * FROM (SELECT m.*, (count(*) OVER ())::int AS found, sum(octet_length(content)) OVER (ORDER BY ${order}) AS bytes_to FROM (${messages}) m) m
   WHERE bytes_to <= ${bytes} OR bytes_to = octet_length(content) ORDER BY ${order}`;

/** Splits rows into the page and the row after which the next page starts. `next` is null on the last page. */
export function pageOf<Row>(rows: readonly Paged<Row>[], limit: number): { shown: Paged<Row>[]; next: Row | null } {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return { shown, next: last !== undefined && last.found > shown.length ? last : null };
}
