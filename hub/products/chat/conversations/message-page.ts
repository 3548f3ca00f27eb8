/** What the texts of one page take up, in bytes: where the next message would be beyond, the page ends before it. Its first message is there in any case. */
export const maxPageBytes = 256 * 1024;

/** A row of a page, and how many messages there were for the page. */
type Paged<Row> = Row & { found: number };

/**
 * SQL of those messages that fit into a page: the bytes are counted before any text is read.
 * @param messages SQL of messages in their order, one more than the page may hold.
 * @param bytes SQL of what the texts of the page take up at most.
 */
export const pageText = (messages: string, order: string, bytes = String(maxPageBytes)): string =>
  `SELECT * FROM (SELECT m.*, (count(*) OVER ())::int AS found, sum(octet_length(content)) OVER (ORDER BY ${order}) AS bytes_to FROM (${messages}) m) m
   WHERE bytes_to <= ${bytes} OR bytes_to = octet_length(content) ORDER BY ${order}`;

/** What of such rows is shown, and the last of them where more come after it. */
export function pageOf<Row>(rows: readonly Paged<Row>[], limit: number): { shown: Paged<Row>[]; next: Row | null } {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return { shown, next: last !== undefined && last.found > shown.length ? last : null };
}
