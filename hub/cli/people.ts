import { Option } from 'commander';
import type { Command } from 'commander';
import { identity as identityContract } from '../../shared/contract/core/identity.ts';
import { roles } from '../../shared/contract/define.ts';
import { visibleLine } from '../../shared/visible-text.ts';
import { isOwnPage } from '../platform/http/pages/own-page.ts';
import { commandLines } from '../platform/process/command-lines.ts';
import { actor, ArgumentError, hubAddress, json, validate, withApp, workspace } from './context.ts';
import type { CommonOptions } from './context.ts';
import { print, readPassword, table } from './terminal.ts';

/** Validates a member with the schema of the API. @throws ArgumentError. */
const checkMember = (member: { email: string; password: string; role?: string }) =>
  validate(identityContract.addMember.body, member);

/** Commands for workspaces, users and sign-in links. */
export function addPeopleCommands(program: Command): void {
  program
    .command('workspace')
    .description('workspaces')
    .command('create')
    .description(`create a workspace; sign in to it with: ${commandLines.hub} link --workspace NAME`)
    .requiredOption('--name <name>', 'name of the workspace')
    .addOption(json())
    .action(async (options: { name: string; json?: boolean }) => {
      const { workspaceName } = validate(identityContract.signUp.body.pick({ workspaceName: true }), {
        workspaceName: options.name,
      });
      const created = await withApp(({ identity }) => identity.createWorkspace(workspaceName));
      print(created, options.json, `created workspace ${created.name} (${created.id})`);
    });

  const user = program.command('user').description('users');
  const email = () => new Option('--email <email>', 'email address').makeOptionMandatory();

  user
    .command('create')
    .description('add a user to a workspace; the password is read from standard input')
    .addOption(workspace())
    .addOption(email())
    .addOption(new Option('--role <role>', 'role').choices(roles).default('agent'))
    .addOption(json())
    .action(async (options: CommonOptions & { email: string; role: (typeof roles)[number] }) => {
      const member = checkMember({ email: options.email, password: await readPassword(), role: options.role });
      const created = await withApp(async ({ identity }) =>
        identity.members.add((await identity.findWorkspace(options.workspace)).id, member, actor),
      );
      print(created, options.json, `added ${created.email} as ${created.role}`);
    });

  user
    .command('password')
    .description('change the password of a user, read from standard input; all sign-ins of the user end immediately')
    .addOption(workspace())
    .addOption(email())
    .addOption(json())
    .action(async (options: CommonOptions & { email: string }) => {
      const member = checkMember({ email: options.email, password: await readPassword() });
      const changed = await withApp(async ({ identity }) =>
        identity.members.setPassword((await identity.findWorkspace(options.workspace)).id, member, actor),
      );
      print(changed, options.json, `changed the password of ${changed.email}`);
    });

  user
    .command('remove')
    .description(
      'remove a user from a workspace; ends their sign-ins immediately and lists the API keys that they created and may know',
    )
    .addOption(workspace())
    .addOption(email())
    .option('--revoke-keys', 'also revoke those keys; programs that use them stop working')
    .addOption(json())
    .action(async (options: CommonOptions & { email: string; revokeKeys?: boolean }) => {
      const revokeKeys = options.revokeKeys === true;
      const removed = await withApp(async ({ identity }) =>
        identity.members.remove((await identity.findWorkspace(options.workspace)).id, { email: options.email }, actor, {
          revokeKeys,
        }),
      );
      const keys = table(
        removed.keys.map(({ id, name, product, environment, keyHint, lastUsedAt }) => ({
          id,
          name: visibleLine(name),
          product,
          environment,
          key: keyHint,
          'last used': lastUsedAt ?? 'never',
        })),
      );
      const advice = revokeKeys
        ? 'Also revoked, because the user may know them:'
        : `The user created these keys and may know them; create others, then revoke each with: ${commandLines.hub} token revoke ID`;
      print(
        removed,
        options.json,
        removed.keys.length === 0 ? `removed ${options.email}` : `removed ${options.email}\n\n${advice}\n\n${keys}`,
      );
    });

  program
    .command('link')
    .description('create a one-time sign-in link for the admin of a workspace')
    .option('--to <path>', 'page to open after the sign-in, such as /app/runs; default: the home page of the dashboard')
    .addOption(workspace())
    .addOption(json())
    .action(async (options: CommonOptions & { to?: string }) => {
      if (options.to !== undefined && !isOwnPage(options.to))
        throw new ArgumentError('--to must be a page of the hub, such as /app/runs or /app/runs?status=failed');
      const url = await withApp(async ({ identity }, config) => {
        const link = new URL('/sign-in', hubAddress(config));
        link.searchParams.set('code', await identity.createSignInCode(options.workspace));
        if (options.to !== undefined) link.searchParams.set('to', options.to);
        return link.href;
      });
      print({ url }, options.json, url);
    });
}
