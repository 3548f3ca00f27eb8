import { analyse } from 'scslre';
import { parseSync } from 'vite';
import type { SourceFile } from './imports.ts';

interface Node {
  type?: string;
  regex?: { pattern: string; flags: string };
}

/**
 * Returns the regular expressions of a file that need more than linear time for some text. Such a text can block a
 * process for seconds.
 */
export function slowPatternsIn({ path, text }: SourceFile): string[] {
  const { errors, program } = parseSync(path, text, { sourceType: 'module' });
  if (errors.length > 0) throw new SyntaxError(`${path}: ${errors[0]?.message}`);
  const found: string[] = [];
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const { type, regex } = value as Node;
    if (type === 'Literal' && regex !== undefined && isSlow(regex.pattern, regex.flags))
      found.push(`${path}: /${regex.pattern}/${regex.flags}`);
    Object.values(value).forEach(visit);
  };
  visit(program);
  return found;
}

const isSlow = (source: string, flags: string) => analyse({ source, flags }).reports.length > 0;
