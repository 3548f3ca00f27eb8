import type { Argument, Command, Option } from 'commander';
import { program as hub } from '../../hub/cli/program.ts';
import { program as companion } from '../../node-agent/runtime/program.ts';
import { cell } from './fields.ts';
import { page } from './pages.ts';

/** Joins notes to sentences. */
const sentences = (notes: readonly string[]) =>
  notes
    .filter((note) => note !== '')
    .map((note) => `${note.charAt(0).toUpperCase()}${note.slice(1).replace(/\.$/, '')}.`)
    .join(' ');

const isShown = ({ hidden }: Option) => !hidden;

function rowOfOption({ flags, description, defaultValue, argChoices, mandatory }: Option): string {
  const notes = [
    description,
    argChoices === undefined ? '' : `One of ${argChoices.map((choice) => `\`${choice}\``).join(', ')}`,
    defaultValue === undefined || defaultValue === false ? '' : `Default: \`${String(defaultValue)}\``,
    mandatory ? 'Required' : '',
  ];
  return `| \`${cell(flags)}\` | ${cell(sentences(notes))} |`;
}

function rowOfArgument(argument: Argument): string {
  const choices =
    argument.argChoices === undefined
      ? ''
      : ` One of ${argument.argChoices.map((choice) => `\`${choice}\``).join(', ')}.`;
  const name = argument.required ? `<${argument.name()}>` : `[${argument.name()}]`;
  return `| \`${name}\` | ${cell(`${argument.description}${choices}`)} |`;
}

/** One section per command that performs an action, in the order of `--help`. */
function sectionsOf(command: Command, path: string): string[] {
  if (command.commands.length > 0)
    return command.commands.flatMap((inner) => sectionsOf(inner, `${path} ${inner.name()}`));
  const rows = [...command.registeredArguments.map(rowOfArgument), ...command.options.filter(isShown).map(rowOfOption)];
  const summary = command.description();
  return [
    `### ${path}`,
    `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`,
    ...(rows.length === 0 ? [] : [['| argument or option | meaning |', '|---|---|', ...rows].join('\n')]),
  ];
}

function programSections(program: Command): string[] {
  const rows = program.options.filter(isShown).map(rowOfOption);
  return [
    `## ${program.name()}`,
    program.description(),
    ['| option of every command | meaning |', '|---|---|', ...rows].join('\n'),
    ...sectionsOf(program, program.name()),
  ];
}

export function commandLinePage(): string {
  return page(
    'Command line',
    'Run the commands with `npx outrigger …` and `npx outrigger-companion …`. Every command has `--help`; commands that print data have `--json`.',
    'Exit codes: 0 for success, 1 for a failure, 2 for wrong arguments. `NO_COLOR` turns colors off.',
    ...programSections(hub),
    ...programSections(companion),
  );
}
