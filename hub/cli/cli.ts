#!/usr/bin/env node
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { resolve } from 'node:path';
import { Command, CommanderError, Option } from 'commander';
import { environments, identity as identityContract } from '../../shared/contract/core/identity.ts';
import { productPermissions, products, roles } from '../../shared/contract/define.ts';
import { nodes as nodesContract } from '../../shared/contract/nodes/nodes.ts';
import { AppError } from '../../shared/errors.ts';
import { visibleLine, visibleText } from '../../shared/visible-text.ts';
import type { App } from '../app.ts';
import { ConfigError, parseConfig, settingsTable } from '../config.ts';
import type { Config } from '../config.ts';
import { readEnvironment } from '../environment.ts';
import { FolderLock, prepareDataFolder, readFolderOwner, waitForFolder } from '../platform/data-folder.ts';
import { explainError } from '../platform/describe-error.ts';
import { createLogger } from '../platform/logger.ts';
import { readPostgresUrl } from '../platform/postgres-server/server.ts';
import { confirmed, print, readPassword, renderDiff, table } from './terminal.ts';
import { applyImport, exportWorkflows, planImport } from './workflow-files.ts';

const actor = 'cli';
const { version } = createRequire(import.meta.url)('../../package.json') as { version: string };

function loadConfig(): Config {
  const config = parseConfig(readEnvironment(process.env), { role: 'api', isTerminal: process.stderr.isTTY });
  return { ...config, home: resolve(config.home), log: { ...config.log, level: 'warn' } };
}

/** Opens the hub's database: that of a running hub, or its own for as long as this takes. */
async function withApp<Result>(work: (app: App, config: Config) => Promise<Result>): Promise<Result> {
  const config = loadConfig();
  prepareDataFolder(config.home);
  if (config.database.url === null) await waitForFolder(config.home, { starting: true });
  const isRunning = readFolderOwner(config.home) !== null;
  using lock = config.database.url === null && !isRunning ? FolderLock.acquire(config.home) : null;
  lock?.announce('command');
  const url = config.database.url ?? (isRunning ? readPostgresUrl(config.home) : null);
  const database = { url, maxConnections: 4 };
  // Loaded only by what needs it: the whole hub takes a while.
  const { createApp } = await import('../app.ts');
  await using app = await createApp(
    { ...config, database },
    { logger: createLogger(config.log), onNotice: (message) => process.stderr.write(`${message}\n`), serves: false },
  );
  return await work(app, config);
}

/** The address of the hub, for what is printed: as it runs, else as it would. */
function hubAddress(config: Config): string {
  const url = readFolderOwner(config.home)?.url ?? null;
  return (
    config.http.publicUrl ??
    (url !== null && URL.canParse(url) ? url : `http://${config.http.host}:${config.http.port}`)
  );
}

interface Common {
  json?: boolean;
  workspace: string;
}

/** What was given, as the API would take it. @throws AppError `validation_failed` that names each field. */
function checked<Output>(
  schema: {
    safeParse(
      value: unknown,
    ):
      | { success: true; data: Output }
      | { success: false; error: { issues: readonly { path: readonly PropertyKey[]; message: string }[] } };
  },
  given: unknown,
): Output {
  const parsed = schema.safeParse(given);
  if (!parsed.success)
    throw new AppError(
      'validation_failed',
      parsed.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`).join('; '),
    );
  return parsed.data;
}

const program = new Command('outrigger')
  .description('Manages an Outrigger hub from the command line.')
  .version(version)
  .exitOverride()
  .configureHelp({ showGlobalOptions: true });
const json = () => new Option('--json', 'print JSON');
const workspace = () => new Option('--workspace <name>', 'workspace').default('demo');

program
  .command('start')
  .description('start the hub; the same as npm start')
  .allowUnknownOption()
  .argument('[options...]')
  .action(async (_options: string[], _parsed: unknown, command: Command) => {
    process.argv.splice(2, process.argv.length, ...command.args);
    await import('../main.ts');
  });

const token = program.command('token').description('API tokens');
token
  .command('create')
  .description('make an API token; its key is shown once')
  .addOption(workspace())
  .addOption(new Option('--product <product>', 'product').choices(products).makeOptionMandatory())
  .addOption(new Option('--environment <environment>', 'environment').choices(environments).default('live'))
  .option('--name <name>', 'name of the token', 'cli')
  .option('--permission <permission...>', 'permissions; all of the product when left out')
  .option('--expires <time>', 'ISO 8601 time after which it is refused')
  .option('--ip <block...>', 'addresses or CIDR blocks that may use it')
  .addOption(json())
  .action(
    async (
      options: Common & {
        product: (typeof products)[number];
        environment: 'live' | 'test';
        name: string;
        permission?: string[];
        expires?: string;
        ip?: string[];
      },
    ) => {
      const body = checked(identityContract.createApiToken.body, {
        name: options.name,
        product: options.product,
        environment: options.environment,
        permissions: options.permission ?? productPermissions[options.product],
        ...(options.expires === undefined ? {} : { expiresAt: options.expires }),
        ...(options.ip === undefined ? {} : { ipAllowlist: options.ip }),
      });
      const created = await withApp(async ({ identity }) => {
        const { id } = await identity.findWorkspace(options.workspace);
        return identity.createToken(id, body, actor);
      });
      print(created, options.json, created.key);
    },
  );
token
  .command('list')
  .description('list the tokens of a workspace')
  .addOption(workspace())
  .addOption(json())
  .action(async (options: Common) => {
    const { data } = await withApp(async ({ identity }) =>
      identity.listTokens((await identity.findWorkspace(options.workspace)).id, { limit: 100 }),
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
  .description('revoke a token, at once and everywhere')
  .argument('<id>')
  .addOption(workspace())
  .addOption(json())
  .action(async (given: string, options: Common) => {
    const { id } = checked(identityContract.deleteApiToken.params.pick({ id: true }), { id: given });
    const revoked = await withApp(async ({ identity }) =>
      identity.revokeToken((await identity.findWorkspace(options.workspace)).id, id, actor),
    );
    print(revoked, options.json, `revoked ${revoked.id}`);
  });

program
  .command('workspace')
  .description('workspaces')
  .command('create')
  .description('make a workspace; sign in to it with: outrigger link --workspace NAME')
  .requiredOption('--name <name>', 'its name')
  .addOption(json())
  .action(async (options: { name: string; json?: boolean }) => {
    const { workspaceName } = checked(identityContract.signUp.body.pick({ workspaceName: true }), {
      workspaceName: options.name,
    });
    const created = await withApp(({ identity }) => identity.createWorkspace(workspaceName));
    print(created, options.json, `made workspace ${created.name} (${created.id})`);
  });

/** A person and their password, as the API would take them. @throws AppError `validation_failed`. */
const checkMember = (member: { email: string; password: string; role?: string }) =>
  checked(identityContract.addMember.body, member);

const user = program.command('user').description('people');
const email = () => new Option('--email <email>', 'email address').makeOptionMandatory();

user
  .command('create')
  .description('add a person to a workspace; the password is read from standard input')
  .addOption(workspace())
  .addOption(email())
  .addOption(new Option('--role <role>', 'role').choices(roles).default('agent'))
  .addOption(json())
  .action(async (options: Common & { email: string; role: (typeof roles)[number] }) => {
    const member = checkMember({ email: options.email, password: await readPassword(), role: options.role });
    const created = await withApp(async ({ identity }) =>
      identity.addMember((await identity.findWorkspace(options.workspace)).id, member, actor),
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
  .action(async (options: Common & { email: string }) => {
    const member = checkMember({ email: options.email, password: await readPassword() });
    const changed = await withApp(async ({ identity }) =>
      identity.setPassword((await identity.findWorkspace(options.workspace)).id, member, actor),
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
  .action(async (options: Common & { email: string; revokeKeys?: boolean }) => {
    const revokeKeys = options.revokeKeys === true;
    const removed = await withApp(async ({ identity }) =>
      identity.removeMember((await identity.findWorkspace(options.workspace)).id, options.email, actor, { revokeKeys }),
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
      : 'They made these keys and may know them; make others, then revoke each with: npm run outrigger -- token revoke ID';
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
  .action(async (options: Common) => {
    const url = await withApp(
      async ({ identity }, config) =>
        `${hubAddress(config)}/sign-in?code=${await identity.createSignInCode(options.workspace)}`,
    );
    print({ url }, options.json, url);
  });

const node = program.command('node').description('companion nodes');
node
  .command('pair')
  .description('make a pairing code for a machine')
  .addOption(workspace())
  .option('--name <name>', 'name of the node; that of the machine when left out')
  .option('--allow-system', 'let workflows run approved commands on it')
  .option('--allow-browser', 'let workflows drive its browser')
  .addOption(json())
  .action(async (options: Common & { name?: string; allowSystem?: boolean; allowBrowser?: boolean }) => {
    const { workspace: wanted, json: _json, ...given } = options;
    const body = checked(nodesContract.createAutomationNode.body, given);
    const { pairing, hub } = await withApp(async ({ identity, nodes }, config) => {
      const { id } = await identity.findWorkspace(wanted);
      const address = hubAddress(config);
      return { pairing: await nodes.createPairing(id, body, address, actor), hub: address };
    });
    print(
      pairing,
      options.json,
      `${pairing.pairingCode}\n\nOn that machine, within 10 minutes:\n  npm run companion -- pair ${pairing.pairingCode} --hub ${hub}\n  npm run companion -- run`,
    );
  });
node
  .command('list')
  .description('list the nodes of a workspace')
  .addOption(workspace())
  .addOption(json())
  .action(async (options: Common) => {
    const { data } = await withApp(async ({ identity, nodes }) =>
      nodes.list((await identity.findWorkspace(options.workspace)).id, { limit: 100 }),
    );
    print(
      data,
      options.json,
      table(
        data.map((row) => ({
          id: row.id,
          name: visibleLine(row.name),
          status: row.status,
          system: row.allowSystem ? 'allowed' : '-',
          browser: row.allowBrowser ? 'allowed' : '-',
          seen: row.lastSeenAt ?? 'never',
        })),
      ),
    );
  });

const workflow = program.command('workflow').description('workflows as files');
workflow
  .command('export')
  .description('write workflows into a folder, a file each; all of them when none is named')
  .argument('[ids or names...]')
  .addOption(workspace())
  .option('--out <folder>', 'where to', 'workflows')
  .addOption(json())
  .action(async (wanted: string[], options: Common & { out: string }) => {
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
  .description('create or change workflows from files; shows what changes and asks first')
  .argument('<files...>')
  .addOption(workspace())
  .option('--dry-run', 'only show what would change')
  .option('--yes', 'do not ask')
  .addOption(json())
  .action(async (paths: string[], options: Common & { dryRun?: boolean; yes?: boolean }) => {
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
                : renderDiff(diff, { plain: (process.env['NO_COLOR'] ?? '') !== '' }),
            )
            .join(''),
        );
      const changes = plans.filter(({ action }) => action !== 'unchanged').length;
      if (options.dryRun === true || changes === 0) {
        if (options.json === true) print(summary, true, '');
        return;
      }
      if (options.yes !== true && !(await confirmed(`Change ${changes} workflow${changes === 1 ? '' : 's'}?`)))
        throw new AppError('validation_failed', 'nothing was changed; say yes, or give --yes');
      const done = await applyImport(workflows, id, plans, actor);
      print(
        done,
        options.json,
        done.map(({ id: changed, name, action }) => `${action.padEnd(9)} ${changed} ${visibleLine(name)}`).join('\n'),
      );
    });
  });

program
  .command('settings')
  .description('list every setting')
  .action(() => {
    process.stdout.write(`${settingsTable()}\n`);
  });

program
  .command('doctor')
  .description('check what the hub needs')
  .addOption(json())
  .action(async (options: { json?: boolean }) => {
    const checks: { check: string; ok: boolean; detail: string }[] = [];
    const attempt = async (check: string, run: () => Promise<string> | string) => {
      try {
        checks.push({ check, ok: true, detail: await run() });
      } catch (error) {
        checks.push({ check, ok: false, detail: explain(error) });
      }
    };
    await attempt('Node.js', () => process.version);
    await attempt('settings', () => `data folder ${loadConfig().home}`);
    await attempt('database', () => withApp(async () => 'answers'));
    await attempt('port', async () => {
      const { http, home } = loadConfig();
      const owner = readFolderOwner(home);
      if (owner !== null && owner.url !== 'command') return `the hub runs at ${owner.url ?? 'an unknown address'}`;
      await new Promise<void>((done, reject) => {
        const probe = createServer().once('error', reject);
        probe.listen(http.port, http.host, () => probe.close(() => done()));
      });
      return `${http.port} is free`;
    });
    print(
      checks,
      options.json,
      checks.map(({ check, ok, detail }) => `${ok ? 'ok  ' : 'FAIL'}  ${check.padEnd(10)} ${detail}`).join('\n'),
    );
    if (checks.some(({ ok }) => !ok)) process.exitCode = 1;
  });

function explain(error: unknown): string {
  if (error instanceof ConfigError) return `settings that can't be used:\n  ${error.problems.join('\n  ')}`;
  return explainError(error);
}

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? 0 : 2;
  } else {
    process.stderr.write(`outrigger: ${visibleText(explain(error))}\n`);
    process.exitCode = 1;
  }
}
