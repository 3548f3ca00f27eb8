import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { packs as contract } from '../../shared/contract/automations/packs.ts';
import { AppError } from '../../shared/errors.ts';
import { visibleLine } from '../../shared/visible-text.ts';
import { ArgumentError, json, validate, withApp } from './context.ts';
import { print, table } from './terminal.ts';

/** Commands for packs that the operator publishes for all workspaces. */
export function addPackCommands(program: Command): void {
  const pack = program.command('pack').description('packs for all workspaces of this hub');
  pack
    .command('publish')
    .description('publish a pack for all workspaces; a published version never changes')
    .argument('<file>', 'manifest of the pack, as JSON')
    .addOption(json())
    .action(async (file: string, options: { json?: boolean }) => {
      const { manifest } = validate(contract.publishHubPack.body, { manifest: readManifest(file) });
      const { pack: published, grants } = await withApp(({ hubPacks }) => hubPacks.publish(manifest)).catch(
        (error: unknown) => {
          throw withProblems(error);
        },
      );
      print(
        { pack: published, grants },
        options.json,
        `Published ${published.packId} ${published.version} for all workspaces.`,
      );
    });
  pack
    .command('list')
    .description('list the newest 100 versions of packs published for all workspaces')
    .addOption(json())
    .action(async (options: { json?: boolean }) => {
      const { data } = await withApp(({ hubPacks }) => hubPacks.list({ limit: 100 }));
      print(
        data,
        options.json,
        table(
          data.map(({ packId, version, manifest, createdAt, withdrawnAt }) => ({
            pack: packId,
            version,
            name: visibleLine(manifest.name),
            published: createdAt,
            withdrawn: withdrawnAt ?? '-',
          })),
        ),
      );
    });
  pack
    .command('withdraw')
    .description('prevent further installations of a version; installed copies remain')
    .argument('<pack>', 'id of the pack')
    .argument('<version>', 'version, such as 1.0.0')
    .addOption(json())
    .action(async (packId: string, version: string, options: { json?: boolean }) => {
      const params = validate(contract.withdrawHubPack.params, { packId, version });
      const withdrawn = await withApp(({ hubPacks }) => hubPacks.withdraw(params.packId, params.version));
      print(withdrawn, options.json, `Withdrew ${packId} ${version}. Workspaces that installed it keep it.`);
    });
}

/** @throws ArgumentError when the file can't be read or is not JSON. */
function readManifest(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new ArgumentError(`${file} can't be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'}).`);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new ArgumentError(`${file} is not JSON.`);
  }
}

/** Adds every problem of a manifest to the message, one per line. */
function withProblems(error: unknown): unknown {
  if (!(error instanceof AppError) || error.code !== 'pack_invalid' || error.details === undefined) return error;
  const lines = error.details.map(({ path, message }) => `\n  ${path.replace('body.manifest.', '')} ${message}`);
  return new ArgumentError(`The pack can't be published:${lines.join('')}`);
}
