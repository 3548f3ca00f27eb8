import { Option } from 'commander';
import type { Command } from 'commander';
import { environments, identity as identityContract } from '../../shared/contract/core/identity.ts';
import { defaultPermissions, permissionSummaries, productPermissions, products } from '../../shared/contract/define.ts';
import { visibleLine } from '../../shared/visible-text.ts';
import { actor, json, validate, withApp, workspace } from './context.ts';
import type { CommonOptions } from './context.ts';
import { print, table } from './terminal.ts';

/** Commands that create, list and revoke API tokens. */
export function addTokenCommands(program: Command): void {
  const token = program.command('token').description('API tokens');
  token
    .command('create')
    .description('create an API token; its key is shown once')
    .addOption(workspace())
    .addOption(new Option('--product <product>', 'product').choices(products).makeOptionMandatory())
    .addOption(new Option('--environment <environment>', 'environment').choices(environments).default('live'))
    .option('--name <name>', 'name of the token', 'cli')
    .option(
      '--permission <permission...>',
      'permissions, as listed below; the default is automations:manage for automations, else all permissions of the product',
    )
    .option('--expires <time>', 'ISO 8601 time at which the token expires')
    .option('--ip <block...>', 'addresses or CIDR blocks that may use the token')
    .addOption(json())
    .addHelpText(
      'after',
      `\nPermissions:\n${products.flatMap((product) => productPermissions[product].map((permission) => `  ${permission.padEnd(20)}${permissionSummaries[permission]}\n`)).join('')}`,
    )
    .action(
      async (
        options: CommonOptions & {
          product: (typeof products)[number];
          environment: 'live' | 'test';
          name: string;
          permission?: string[];
          expires?: string;
          ip?: string[];
        },
      ) => {
        const body = validate(identityContract.createApiToken.body, {
          name: options.name,
          product: options.product,
          environment: options.environment,
          permissions: options.permission ?? defaultPermissions(options.product),
          ...(options.expires === undefined ? {} : { expiresAt: options.expires }),
          ...(options.ip === undefined ? {} : { ipAllowlist: options.ip }),
        });
        const created = await withApp(async ({ identity }) => {
          const { id } = await identity.findWorkspace(options.workspace);
          return identity.tokens.create(id, body, actor);
        });
        print(created, options.json, created.key);
      },
    );
  token
    .command('list')
    .description('list the tokens of a workspace')
    .addOption(workspace())
    .addOption(json())
    .action(async (options: CommonOptions) => {
      const { data } = await withApp(async ({ identity }) =>
        identity.tokens.list((await identity.findWorkspace(options.workspace)).id, { limit: 100 }),
      );
      print(
        data,
        options.json,
        table(
          data.map(({ id, name, product, environment, keyHint, lastUsedAt }) => ({
            id,
            name: visibleLine(name),
            product,
            environment,
            key: keyHint,
            'last used': lastUsedAt ?? 'never',
          })),
        ),
      );
    });
  token
    .command('revoke')
    .description('revoke a token immediately on all processes')
    .argument('<id>')
    .addOption(workspace())
    .addOption(json())
    .action(async (tokenId: string, options: CommonOptions) => {
      const { id } = validate(identityContract.deleteApiToken.params.pick({ id: true }), { id: tokenId });
      const revoked = await withApp(async ({ identity }) =>
        identity.tokens.revoke((await identity.findWorkspace(options.workspace)).id, id, actor),
      );
      print(revoked, options.json, `revoked ${revoked.id}`);
    });
}
