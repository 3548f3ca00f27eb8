import { Option } from 'commander';
import type { Command } from 'commander';
import { identity as identityContract } from '../../shared/contract/core/identity.ts';
import { roles } from '../../shared/contract/define.ts';
import { visibleLine } from '../../shared/visible-text.ts';
import { commandLines } from '../platform/process/command-lines.ts';
import { actor, hubAddress, json, validate, withApp, workspace } from './context.ts';
import type { CommonOptions } from './context.ts';
import { print, readPassword, table } from './terminal.ts';

/** A person and their password, as the API would take them. @throws AppError `validation_failed`. */
const checkMember = (member: { email: string; password: string; role?: string }) =>
  validate(identityContract.addMember.body, member);

/** Workspaces, their people, and links to sign in. */
export function addPeopleCommands(program: Command): void {
  program
    .command('workspace')
    .description('workspaces')
    .command('create')
    .description('make a workspace; sign in to it with: outrigger link --workspace NAME')
    .requiredOption('--name <name>', 'its name')
    .addOption(json())
    .action(async (options: { name: string; json?: boolean }) => {
      const { workspaceName } = validate(identityContract.signUp.body.pick({ workspaceName: true }), {
        workspaceName: options.name,
      });
      const created = await withApp(({ identity }) => identity.createWorkspace(workspaceName));
      print(created, options.json, `made workspace ${created.name} (${created.id})`);
    });

  const user = program.command('user').description('people');
  const email = () => new Option('--email <email>', 'email address').makeOptionMandatory();

  user
    .command('create')
    .description('add a person to a workspace; the password is read from standard input')
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
    .description(
      'give a person another password, read from standard input; whoever is signed in as them is signed out at once',
    )
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
      'take a person out of a workspace; they are signed out at once, and the keys are named that they made and may know',
    )
    .addOption(workspace())
    .addOption(email())
    .option('--revoke-keys', 'revoke those keys as well; whatever uses them stops')
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
        ? 'Revoked with them, as they may know them:'
        : `They made these keys and may know them; make others, then revoke each with: ${commandLines.hub} token revoke ID`;
      print(
        removed,
        options.json,
        removed.keys.length === 0 ? `removed ${options.email}` : `removed ${options.email}\n\n${advice}\n\n${keys}`,
      );
    });

  program
    .command('link')
    .description('make a one-time sign-in link for the admin of a workspace')
    .addOption(workspace())
    .addOption(json())
    .action(async (options: CommonOptions) => {
      const url = await withApp(
        async ({ identity }, config) =>
          `${hubAddress(config)}/sign-in?code=${await identity.createSignInCode(options.workspace)}`,
      );
      print({ url }, options.json, url);
    });
}
