import { open } from 'node:fs/promises';
import { Option } from 'commander';
import type { Command } from 'commander';
import { carriers } from '../../shared/contract/calls/records.ts';
import type { Carrier } from '../../shared/contract/calls/records.ts';
import { AppError } from '../../shared/errors.ts';
import { visibleLine } from '../../shared/visible-text.ts';
import { ArgumentError, json, withApp, workspace } from './context.ts';
import type { CommonOptions } from './context.ts';
import { print } from './terminal.ts';

/** Commands that import call records. */
export function addCallCommands(program: Command): void {
  const calls = program.command('calls').description('records of calls');

  calls
    .command('import')
    .description(
      'import calls from a CSV file with the columns of GET /calls/export?format=csv; importing a file twice changes nothing',
    )
    .argument('<file>', 'CSV file')
    .addOption(workspace())
    .addOption(new Option('--provider <name>', 'carrier of lines that name none').choices(carriers))
    .addOption(json())
    .action(async (file: string, options: CommonOptions & { provider?: Carrier }) => {
      await using handle = await open(file).catch((error: NodeJS.ErrnoException) => {
        const reason = error.code === 'ENOENT' ? 'the file does not exist' : (error.code ?? error.message);
        throw new ArgumentError(`can't read ${file}: ${reason}`);
      });
      if ((await handle.stat()).isDirectory())
        throw new ArgumentError(`can't read ${file}: it is a folder; name the CSV file in it`);
      const outcome = await withApp(async ({ identity, calls: records }) => {
        const { id } = await identity.findWorkspace(options.workspace);
        return records.importCsv(
          id,
          handle.createReadStream({ encoding: 'utf8', autoClose: false }),
          options.provider ?? null,
        );
      });
      const problems = outcome.problems.map(({ line, message }) => `line ${line}: ${visibleLine(message)}`);
      print(
        outcome,
        options.json,
        [
          `${outcome.read} calls read, ${outcome.changed} records changed, ${outcome.skipped} not finished yet, ${outcome.old} older than CALL_RETENTION_DAYS keeps, ${outcome.refused} lines refused`,
          ...problems,
        ].join('\n'),
      );
      if (outcome.refused > 0) process.exitCode = 1;
    });

  calls
    .command('reconcile')
    .description("compare calls with the carrier's list, for each connection with an accountSid")
    .addOption(new Option('--provider <name>', 'carrier').choices(['twilio']).makeOptionMandatory())
    .requiredOption('--since <time>', 'ISO 8601 time, such as 2026-01-31')
    .addOption(workspace())
    .addOption(json())
    .action(async (options: CommonOptions & { since: string }) => {
      const since = new Date(options.since);
      if (Number.isNaN(since.getTime()) || since.getTime() > Date.now())
        throw new ArgumentError('--since must be a time in the past, such as 2026-01-31');
      const outcome = await withApp(async ({ identity, calls: records }) => {
        const { id } = await identity.findWorkspace(options.workspace);
        return records.reconcile(id, since, new AbortController().signal);
      });
      if (outcome.connections === 0)
        throw new AppError(
          'not_found',
          'No connection to Twilio has an accountSid, or the workspace is not entitled to business_calling; set the first with PATCH /calls/connections/{id}.',
        );
      print(
        outcome,
        options.json,
        [
          `${outcome.connections} connections, ${outcome.read} calls read, ${outcome.changed} records changed`,
          ...outcome.failed.map(({ connectionId, message }) => `${connectionId}: ${visibleLine(message)}`),
        ].join('\n'),
      );
      if (outcome.failed.length > 0) process.exitCode = 1;
    });
}
