import { parseSync } from 'vite';
import type { SourceFile } from './imports.ts';

/** A statement that is prepared by name. */
export interface Statement {
  from: string;
  name: string;
  /** Its text where that stands in the call; else what stands there, of its file. */
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

/** Every call of `query(name, text, values)` and `systemStatement(name, text, values)`; one whose name is chosen by a condition is as many as it may be. */
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
          // No name, no prepared statement.
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

/** Names that stand for different statements: on one connection the second of them fails. */
export function ambiguousNames(statements: readonly Statement[]): string[] {
  const byName = Map.groupBy(statements, ({ name }) => name);
  return [...byName].flatMap(([name, same]) =>
    new Set(same.map(({ text }) => text)).size === 1
      ? []
      : [`${name} (${[...new Set(same.map(({ from }) => from))].join(', ')})`],
  );
}
