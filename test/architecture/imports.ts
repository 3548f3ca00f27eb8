import { dirname, join, normalize } from 'node:path/posix';
import { parseSync } from 'vite';

/** A source file: its path from the root of the project, and its text. */
export interface SourceFile {
  path: string;
  text: string;
}

/** One import of a file; `target` is a path of the project, `node:...`, or the name of a package. */
export interface Import {
  from: string;
  target: string;
}

function packageName(specifier: string): string {
  const [scope = '', name = ''] = specifier.split('/');
  return specifier.startsWith('@') ? `${scope}/${name}` : scope;
}

/**
 * Every import of a file, of whatever form: static, re-exported, type-only, dynamic, and the calls of `require`. One whose target
 * is not written out is `?`, which no rule allows.
 */
export function importsOf({ path, text }: SourceFile): Import[] {
  const { module, errors, program } = parseSync(path, text, { sourceType: 'module' });
  if (errors.length > 0) throw new SyntaxError(`${path}: ${errors[0]?.message}`);
  const specifiers = [
    ...module.staticImports.map((found) => found.moduleRequest.value),
    ...module.staticExports.flatMap((found) =>
      found.entries.flatMap((entry) => (entry.moduleRequest === null ? [] : [entry.moduleRequest.value])),
    ),
    ...module.dynamicImports.map((found) => literalOf(text.slice(found.moduleRequest.start, found.moduleRequest.end))),
    ...requireCalls(program),
  ];
  return specifiers.map((specifier) => {
    if (specifier.startsWith('.')) return { from: path, target: normalize(join(dirname(path), specifier)) };
    return { from: path, target: packageName(specifier) };
  });
}

function literalOf(source: string): string {
  return /^(['"`])([^'"`$]*)\1$/.exec(source.trim())?.[2] ?? '?';
}

/** `require('x')` with a literal; a computed one finds a file, which is no import. */
function requireCalls(root: unknown): string[] {
  const found: string[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visit);
    if (typeof value !== 'object' || value === null) return;
    const node = value as {
      type?: string;
      callee?: { type?: string; name?: string };
      arguments?: { type?: string; value?: unknown }[];
    };
    const [argument] = node.arguments ?? [];
    if (
      node.type === 'CallExpression' &&
      node.callee?.type === 'Identifier' &&
      node.callee.name === 'require' &&
      typeof argument?.value === 'string'
    )
      found.push(argument.value);
    if (!Array.isArray(value)) Object.values(value).forEach(visit);
  };
  visit(root);
  return found;
}

/** The files of one circle of imports, or null when there is none. */
export function findCycle(imports: readonly Import[]): string[] | null {
  const targets = Map.groupBy(imports, ({ from }) => from);
  const done = new Set<string>();
  const visit = (file: string, way: string[]): string[] | null => {
    if (way.includes(file)) return [...way.slice(way.indexOf(file)), file];
    if (done.has(file)) return null;
    for (const { target } of targets.get(file) ?? []) {
      const cycle = targets.has(target) ? visit(target, [...way, file]) : null;
      if (cycle !== null) return cycle;
    }
    done.add(file);
    return null;
  };
  for (const file of targets.keys()) {
    const cycle = visit(file, []);
    if (cycle !== null) return cycle;
  }
  return null;
}
