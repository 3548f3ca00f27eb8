import { products, rules } from './rules.ts';

const isOfProject = (pattern: string) => /^(shared|hub|node-agent|package\.json)/.test(pattern);
const isUnwritten = (name: string) =>
  /^(test|tests of .*|conformance suites .*|settings of tools|the bundler of .*|hub\/products\/.*)$/.test(name);

/** The import rules and the dependencies between products as Markdown tables for docs/internals/architecture.md. */
export function importTable(): string {
  const rows = rules
    .filter(({ name }) => !isUnwritten(name))
    .map(({ from, allowed }) => {
      const own = allowed.filter((pattern) => isOfProject(pattern) && pattern !== from);
      return `| \`${from}\` | ${own.map((pattern) => `\`${pattern}\``).join(', ') || 'no others'} |`;
    });
  const known = Object.entries(products).map(
    ([product, others]) => `| \`${product}\` | ${others.map((other) => `\`${other}\``).join(', ') || 'no other'} |`,
  );
  return [
    '| files | may import, beside each other |',
    '|---|---|',
    ...rows,
    '',
    '| product | knows |',
    '|---|---|',
    ...known,
  ].join('\n');
}

// Prints the tables after a change of the rules: node test/architecture/import-table.ts
if (import.meta.main) process.stdout.write(`${importTable()}\n`);
