import { dirname, join, normalize } from 'node:path/posix';
import { parseSync } from 'vite';

/** A source file with its path from the project root. */
export interface SourceFile {
  path: string;
  text: string;
}

/** An import of a file. `target` is a path in the project, `node:...` or a package name. */
export interface Import {
  from: string;
  target: string;
}

function packageName(specifier: string): string {
  const [scope = '', name = ''] = specifier.split('/');
  return specifier.startsWith('@') ? `${scope}/${name}` : scope;
}

/**
 * Returns all imports of a file: static, re-exported, type-only and dynamic ones, and calls of `require`.
 * An import with a computed target has the target `?`, which no rule allows.
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

/** Calls of `require('x')` with a literal. A computed call can load any file. */
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

/** Returns the files of one import cycle, or null without one. */
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
