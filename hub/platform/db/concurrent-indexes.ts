/** One statement of a migration that builds or drops indexes while the table is in use. */
export interface IndexStep {
  kind: 'create' | 'drop';
  /** As it stands in the statement, quoted. */
  name: string;
  statement: string;
}

const identifier = String.raw`"(?:[^"]|"")+"|[a-z_][a-z0-9_$]*`;
const name = `((?:(?:${identifier})\\.)?(?:${identifier}))`;
const create = new RegExp(
  `^CREATE\\s+(?:UNIQUE\\s+)?INDEX\\s+CONCURRENTLY\\s+(?:IF\\s+NOT\\s+EXISTS\\s+)?${name}\\s+ON\\s`,
  'i',
);
const drop = new RegExp(`^DROP\\s+INDEX\\s+(?:CONCURRENTLY\\s+)?(?:IF\\s+EXISTS\\s+)?${name}\\s*;?\\s*$`, 'i');

/**
 * The steps of a migration that builds indexes concurrently; null when it is an ordinary one.
 * @throws when it holds anything beside: what can't run in a transaction must be repeatable statement by statement, and only indexes are.
 */
export function concurrentSteps(statements: readonly string[]): IndexStep[] | null {
  // A comment may stand before a statement, and may name what it is about.
  const texts = statements
    .map((statement) => statement.replace(/^(?:\s*--[^\n]*(?:\n|$))+/, '').trim())
    .filter((text) => text !== '');
  if (!texts.some((text) => /^(?:CREATE|DROP)\s[^;(]*\bCONCURRENTLY\b/i.test(text))) return null;
  return texts.map((statement) => {
    const created = create.exec(statement)?.[1];
    if (created !== undefined) return { kind: 'create', name: created, statement };
    const dropped = drop.exec(statement)?.[1];
    if (dropped !== undefined) return { kind: 'drop', name: dropped, statement };
    throw new Error(
      `a migration that builds an index concurrently holds nothing but CREATE INDEX CONCURRENTLY and DROP INDEX, not: ${statement.slice(0, 80)}`,
    );
  });
}
