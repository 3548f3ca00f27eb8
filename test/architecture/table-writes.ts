import { parseSync } from 'vite';
import type { SourceFile } from './imports.ts';

interface Node {
  type?: string;
  value?: unknown;
  quasis?: { value: { cooked: string } }[];
}

const write = /^\s*(?:insert\s+into\s+\w|update\s+\w+(?:\s+(?:as\s+)?\w+)?\s+set\s|delete\s+from\s+\w)/i;
const writeAfterWith = /^\s*with\s[^]*[\s(](?:insert\s+into|update\s+\w+\s+set|delete\s+from)\s/i;

/**
 * Finds SQL strings that insert, update or delete rows. For a string with several statements, returns the first such
 * statement. Each result starts with the path of the file.
 */
export function tableWritesOf({ path, text }: SourceFile): string[] {
  const { errors, program } = parseSync(path, text, { sourceType: 'module' });
  if (errors.length > 0) throw new SyntaxError(`${path}: ${errors[0]?.message}`);
  const found: string[] = [];
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const statement = textOf(value as Node)
      ?.split(';')
      .find((part) => write.test(part) || writeAfterWith.test(part));
    if (statement !== undefined) found.push(`${path}: ${statement.trim().replaceAll(/\s+/g, ' ').slice(0, 80)}`);
    Object.values(value).forEach(visit);
  };
  visit(program);
  return found;
}

function textOf(node: Node): string | undefined {
  if (node.type === 'Literal' && typeof node.value === 'string') return node.value;
  // A table name can be any expression.
  if (node.type === 'TemplateLiteral') return node.quasis?.map(({ value }) => value.cooked).join('expression');
  return undefined;
}
