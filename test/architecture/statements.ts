import { parseSync } from 'vite';
import type { SourceFile } from './imports.ts';

/** A prepared statement with a name. */
export interface Statement {
  from: string;
  name: string;
  /** The SQL text if the call contains it as a literal; otherwise the source of the argument with the file path. */
  text: string;
}

interface Node {
  type?: string;
  start: number;
  end: number;
  callee?: { type?: string; property?: { name?: string } };
  arguments?: Node[];
  value?: unknown;
  quasis?: { value: { cooked: string } }[];
  consequent?: Node;
  alternate?: Node;
}

const callees = new Set(['query', 'systemStatement']);

/**
 * Returns the calls of `query(name, text, values)` and `systemStatement(name, text, values)`. A call with a conditional
 * name counts once per name.
 */
export function statementsOf({ path, text }: SourceFile): Statement[] {
  const { errors, program } = parseSync(path, text, { sourceType: 'module' });
  if (errors.length > 0) throw new SyntaxError(`${path}: ${errors[0]?.message}`);
  const found: Statement[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visit);
    if (typeof value !== 'object' || value === null) return;
    const node = value as Node;
    if (node.type === 'CallExpression' && callees.has(node.callee?.property?.name ?? '')) {
      const [name, statement, values] = node.arguments ?? [];
      if (name !== undefined && statement !== undefined && values !== undefined)
        for (const one of namesOf(name))
          // A statement without a name is not prepared.
          if (one !== '')
            found.push({
              from: path,
              name: one,
              text: literalOf(statement) ?? `${path}: ${text.slice(statement.start, statement.end)}`,
            });
    }
    if (!Array.isArray(value)) Object.values(value).forEach(visit);
  };
  visit(program);
  return found;
}

function namesOf(node: Node): string[] {
  if (node.type === 'ConditionalExpression')
    return [node.consequent, node.alternate].flatMap((one) => (one === undefined ? [] : namesOf(one)));
  const name = literalOf(node);
  return name === null ? [] : [name];
}

function literalOf(node: Node): string | null {
  if (node.type === 'Literal' && typeof node.value === 'string') return node.value;
  if (node.type === 'TemplateLiteral' && node.quasis?.length === 1) return node.quasis[0]?.value.cooked ?? null;
  return null;
}

/** Names of different statements. On one connection, the second statement with the same name would fail. */
export function ambiguousNames(statements: readonly Statement[]): string[] {
  const byName = Map.groupBy(statements, ({ name }) => name);
  return [...byName].flatMap(([name, same]) =>
    new Set(same.map(({ text }) => text)).size === 1
      ? []
      : [`${name} (${[...new Set(same.map(({ from }) => from))].join(', ')})`],
  );
}
