import type { Command } from 'commander';
import { AppError } from '../../shared/errors.ts';
import { visibleLine } from '../../shared/visible-text.ts';
import { actor, isColorDisabled, json, withApp, workspace } from './context.ts';
import type { CommonOptions } from './context.ts';
import { confirm, print, renderDiff } from './terminal.ts';
import { applyImport, exportWorkflows, planImport } from './workflow-files.ts';

/** Commands that export and import workflows as files. */
export function addWorkflowCommands(program: Command): void {
  const workflow = program.command('workflow').description('workflows as files');
  workflow
    .command('export')
    .description('write each workflow to a file in a folder; all workflows when none is named')
    .argument('[ids or names...]')
    .addOption(workspace())
    .option('--out <folder>', 'folder to write to', 'workflows')
    .addOption(json())
    .action(async (wanted: string[], options: CommonOptions & { out: string }) => {
      const written = await withApp(async ({ identity, workflows }) =>
        exportWorkflows(workflows, (await identity.findWorkspace(options.workspace)).id, options.out, wanted),
      );
      print(
        written,
        options.json,
        written.length === 0 ? 'there are no workflows' : written.map(({ path }) => path).join('\n'),
      );
    });
  workflow
    .command('import')
    .description('create or change workflows from files; shows the changes and asks first')
    .argument('<files...>')
    .addOption(workspace())
    .option('--dry-run', 'only show what would change')
    .option('--yes', 'do not ask')
    .addOption(json())
    .action(async (paths: string[], options: CommonOptions & { dryRun?: boolean; yes?: boolean }) => {
      await withApp(async ({ identity, workflows }) => {
        const { id } = await identity.findWorkspace(options.workspace);
        const plans = await planImport(workflows, id, paths);
        const summary = plans.map(({ path, name, action, diff }) => ({ path, name, action, diff }));
        if (options.json !== true)
          process.stdout.write(
            summary
              .map(({ path, name, diff }) =>
                diff === ''
                  ? `${path}: ${visibleLine(name)} is unchanged\n`
                  : renderDiff(diff, { plain: isColorDisabled() }),
              )
              .join(''),
          );
        const changes = plans.filter(({ action }) => action !== 'unchanged').length;
        if (options.dryRun === true || changes === 0) {
          if (options.json === true) print(summary, true, '');
          return;
        }
        if (options.yes !== true && !(await confirm(`Change ${changes} workflow${changes === 1 ? '' : 's'}?`)))
          throw new AppError('validation_failed', 'nothing was changed; answer y, or use --yes');
        const done = await applyImport(workflows, id, plans, actor);
        print(
          done,
          options.json,
          done.map(({ id: changed, name, action }) => `${action.padEnd(9)} ${changed} ${visibleLine(name)}`).join('\n'),
        );
      });
    });
}
