import { parseArgs } from 'node:util';
import type { ParseArgsConfig } from 'node:util';

export interface BenchArguments {
  /** The selected parts of the benchmark. */
  parts: ReadonlySet<string>;
  /** Values of the other options. */
  values: Record<string, string | undefined>;
}

/**
 * Parses the arguments of a benchmark. Without `--only`, all parts are selected. Returns null after it printed
 * `--help`.
 * @param parts description of each part, by name.
 * @param more descriptions of further options that take a value.
 * @throws Error that lists the existing parts.
 */
export function readBenchArguments(
  bench: string,
  args: string[],
  parts: Record<string, string>,
  more: Record<string, string> = {},
): BenchArguments | null {
  const names = Object.keys(parts);
  const options: NonNullable<ParseArgsConfig['options']> = { help: { type: 'boolean' }, only: { type: 'string' } };
  for (const name of Object.keys(more)) options[name] = { type: 'string' };
  const { values } = parseArgs({ args, options });
  if (values['help'] === true) {
    const lines = [
      ['--only PART,…', 'only these parts:'],
      ...Object.entries(parts).map(([name, what]) => [`  ${name}`, what]),
      ...Object.entries(more).map(([name, what]) => [`--${name} …`, what]),
    ].map(([left = '', right]) => `  ${left.padEnd(18)}${right}`);
    process.stdout.write(
      `npm run bench -- ${bench} [options]\n\n${lines.join('\n')}\n\nBENCH_NODE_OPTIONS are the NODE_OPTIONS of the hub that is measured, such as --cpu-prof.\n`,
    );
    return null;
  }
  const { only } = values;
  const wanted = typeof only === 'string' ? only.split(',') : names;
  const unknown = wanted.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new Error(`--only: no such part: "${unknown}"; there are ${names.join(', ')}`);
  return {
    parts: new Set(wanted),
    values: Object.fromEntries(
      Object.keys(more).map((name) => [name, typeof values[name] === 'string' ? values[name] : undefined]),
    ),
  };
}
