import { parseSync } from 'vite';
import type { SourceFile } from './imports.ts';

/**
 * Words that are not terms of this field. docs/glossary.md has the words to use instead: a lease is acquired, not held;
 * a subscriber is notified, not told; a limit has a quota, not a room.
 */
const retiredWords = new Set(
  'begun came door doors doomed ears faces farewell farewells hear hears held letgo lets nobody parked said seat seats somebody stranger strangers tell tells told wear whoever wish wishes'.split(
    ' ',
  ),
);

/** Names with an established meaning. */
const allowedNames = new Set([
  // A call on hold is the standard term of telephony; `isHeld` is also a property of the leadership of the database.
  'isHeld',
  'isHeldByOther',
  'heldByOther',
  // A held-out set is the standard term of evaluations.
  'heldOut',
  'isHeldOut',
]);

interface Node {
  type?: string;
  name?: string;
  id?: unknown;
  key?: unknown;
  params?: unknown;
  param?: unknown;
  local?: unknown;
}

/** The words of a name in camel case, in lower case. */
const wordsOf = (name: string) => name.split(/(?=[A-Z])|\d+/).map((word) => word.toLowerCase());

/** Whether a name has a retired word. Names with underscores belong to the API or the database and stay. */
const isRetired = (name: string) =>
  !name.slice(1).includes('_') &&
  !allowedNames.has(name) &&
  wordsOf(name.replace(/^_/, '')).some((word) => retiredWords.has(word));

/** The field of each node type that declares names. A use of a name is reported at its declaration. */
const declaringFields = {
  VariableDeclarator: 'id',
  FunctionDeclaration: 'id',
  ClassDeclaration: 'id',
  TSInterfaceDeclaration: 'id',
  TSTypeAliasDeclaration: 'id',
  PropertyDefinition: 'key',
  MethodDefinition: 'key',
  TSPropertySignature: 'key',
  TSMethodSignature: 'key',
  CatchClause: 'param',
} as const satisfies Record<string, keyof Node>;

/** Every declared name of a file that has a retired word, as `path: name`. */
export function retiredNamesOf({ path, text }: SourceFile): string[] {
  const { errors, program } = parseSync(path, text, { sourceType: 'module' });
  if (errors.length > 0) throw new SyntaxError(`${path}: ${errors[0]?.message}`);
  const found = new Set<string>();
  const collect = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const { type, name } = value as Node;
    if ((type === 'Identifier' || type === 'PrivateIdentifier') && name !== undefined) {
      if (isRetired(name)) found.add(`${path}: ${name}`);
      return;
    }
    // In a destructuring pattern, the value is the declared name. The key belongs to the destructured object.
    if (type === 'Property') collect((value as { value?: unknown }).value);
    else if (type?.endsWith('Pattern') === true || type?.startsWith('TSParameter') === true || Array.isArray(value))
      Object.entries(value).forEach(([field, inner]) => field !== 'right' && collect(inner));
  };
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const node = value as Node;
    const field = declaringFields[node.type as keyof typeof declaringFields] as keyof Node | undefined;
    if (field !== undefined) collect(node[field]);
    if (Array.isArray(node.params)) collect(node.params);
    Object.values(value).forEach(visit);
  };
  visit(program);
  return [...found];
}
