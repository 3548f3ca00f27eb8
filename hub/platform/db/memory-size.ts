/**
 * The size of a `jsonb` column in the memory of PostgreSQL, as SQL, in bytes; 0 for null. Parsed, it uses up to 8 times as much heap here. To append an
 * empty value of its kind only decompresses the column, which takes a fraction of the time that its text takes.
 */
export const memorySize = (column: string, empty: '[]' | '{}'): string =>
  `coalesce(pg_column_size(${column} || '${empty}'::jsonb), 0)`;
