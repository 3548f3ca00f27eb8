import { Argument } from 'commander';
import { describeOrigin } from '../../../shared/companion/origin-labels.ts';
import { programWarnings } from '../../../shared/companion/program-warnings.ts';
import { promptAnswers } from '../../../shared/companion/state.ts';
import type { Prompt, PromptAnswer } from '../../../shared/companion/state.ts';
import { visibleLine, visibleText } from '../../../shared/visible-text.ts';
import { askCompanion } from '../control/client.ts';
import { assertId, json } from './context.ts';
import type { CliContext } from './context.ts';
import { localTime } from './local-time.ts';
import { notRunning } from './settings-commands.ts';

/** Adds `prompts` and `answer` to the command line. */
export function addPromptCommands({ program, dataFolder, print }: CliContext): void {
  program
    .command('prompts')
    .description('show the commands that wait for your answer')
    .addOption(json())
    .action(async (options: { json?: boolean }) => {
      const state = await askCompanion(dataFolder(), 'state', {});
      if (state === null) throw notRunning();
      print(
        state.prompts,
        options.json,
        state.prompts.map(describePrompt).join('\n\n') || 'No command waits for your answer.',
      );
    });

  program
    .command('answer')
    .description('answer whether a waiting command may run')
    .argument('<prompt>', 'ID of the prompt, as `prompts` shows it')
    .addArgument(new Argument('<answer>').choices(promptAnswers))
    .addOption(json())
    .action(async (promptId: string, answer: PromptAnswer, options: { json?: boolean }) => {
      assertId(promptId, 'prompt', 'prompts');
      const state = await askCompanion(dataFolder(), 'answerPrompt', { promptId, answer });
      if (state === null) throw notRunning();
      print({ promptId, answer }, options.json, `Answered: ${answer}.`);
    });
}

/** Marks text of a workflow, so that none of its lines looks like a line of the prompt. */
const indented = (text: string) => text.replaceAll(/^/gm, '           | ');

/** Describes everything that would run, without hidden characters. */
function describePrompt(prompt: Prompt): string {
  const { id, program, programSha256, argv, cwd, env, stdin, timeoutMs, approvedBy, origin, reason, expiresAt } =
    prompt;
  return [
    `prompt     ${id}`,
    `program    ${visibleLine(program)}${reason === 'program_changed' ? '  (CHANGED since you allowed it)' : ''}`,
    `sha256     ${programSha256}`,
    ...argv.map((word, index) => (index === 0 ? 'argv' : '').padEnd(11) + visibleLine(JSON.stringify(word))),
    `folder     ${visibleLine(cwd)}${reason === 'other_folder' ? '  (your rule permits this in another folder only)' : ''}`,
    ...Object.entries(env).map(([name, value]) => `variable   ${name}=${visibleLine(JSON.stringify(value))}`),
    ...(stdin === null ? [] : [`input      ${stdin.length} characters:`, indented(visibleText(stdin))]),
    `at most    ${timeoutMs / 1000} s`,
    ...describeOrigin(origin, approvedBy).map(
      ([name, words]) => `${name.toLowerCase().padEnd(11)} ${visibleLine(words)}`,
    ),
    ...programWarnings(argv).map((words) => `WARNING    ${visibleLine(words)}`),
    `until      ${localTime(expiresAt)}, then it is refused`,
    `answer     outrigger-companion answer ${id} once|30_minutes|always|deny|never`,
  ].join('\n');
}
