import { existsSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { Argument } from 'commander';
import { withoutAskingWarning, wideShareWarning } from '../../../shared/companion/consent-warnings.ts';
import { powers } from '../../../shared/companion/settings.ts';
import type { Power, ProgramRule } from '../../../shared/companion/settings.ts';
import { visibleLine } from '../../../shared/visible-text.ts';
import { sandboxProblem } from '../commands/browser/sandbox.ts';
import { askCompanion } from '../control/client.ts';
import { CompanionError } from '../data-folder.ts';
import { isWideFolder } from '../owner-changes.ts';
import { isRuleMoved } from '../program-rules.ts';
import { confirm } from './consent.ts';
import { asTyped, assertId, change, json, parseMinutes } from './context.ts';
import type { CliContext } from './context.ts';
import { addHosts } from './host-commands.ts';
import { localTime } from './local-time.ts';

interface PowerOptions {
  json?: boolean;
  for?: string;
  program?: string[];
  ask?: boolean;
  yes?: boolean;
  withoutSandbox?: boolean;
}

interface ShareOptions {
  json?: boolean;
  includeHidden?: boolean;
  receiveDownloads?: boolean;
  yes?: boolean;
}

/** Adds the commands for the owner's settings to the command line. */
export function addSettingsCommands({ program, dataFolder, print }: CliContext): void {
  for (const [name, description, done] of [
    ['pause', 'refuse every command, and end running ones', 'Paused: every command is refused until you resume.'],
    ['resume', 'accept commands again', 'Resumed.'],
  ] as const)
    program
      .command(name)
      .description(description)
      .addOption(json())
      .action(async (options: { json?: boolean }) => {
        const settings = await change(dataFolder(), { change: name });
        const isPaused = name === 'resume' && settings.paused;
        print(
          settings,
          options.json,
          isPaused ? 'The companion is still paused; see: outrigger-companion status' : done,
        );
      });

  program
    .command('allow')
    .description(`allow ${powers.join(', ')}`)
    .addArgument(new Argument('<power>', 'what workflows may use').choices(powers))
    .option('--for <time>', 'time limit, such as 30m, 8h or 2d (default: no limit)')
    .option('--program <path...>', 'with system: only these programs')
    .option('--ask', 'with system: ask you before each program that no rule decides (the default)')
    .option('--no-ask', 'with system: run what is approved at the hub without asking you')
    .option('--yes', 'with --no-ask: confirm without a question')
    .option('--without-sandbox', 'with browser: also as root, where Chromium has no sandbox')
    .addOption(json())
    .action(async (power: Power, options: PowerOptions) => {
      const folder = dataFolder();
      const minutes = options.for === undefined ? undefined : parseMinutes(options.for);
      if (power === 'system' && options.program !== undefined)
        await change(folder, { change: 'programs', programs: options.program });
      const withoutAsking = power === 'system' && options.ask === false;
      if (withoutAsking) await confirm(withoutAskingWarning, options.yes === true);
      const settings = await change(folder, {
        change: 'allow',
        power,
        ...(minutes === undefined ? {} : { minutes }),
        ...(options.withoutSandbox === true ? { withoutSandbox: true } : {}),
        ...(withoutAsking ? { withoutAsking } : {}),
      });
      const unsafe = power === 'browser' ? sandboxProblem(settings.browser) : null;
      if (unsafe !== null) process.stderr.write(`outrigger-companion: ${asTyped(unsafe)}\n`);
      const until = settings.until[power];
      print(
        settings,
        options.json,
        unsafe === null
          ? `Workflows may use ${power} on this machine now${until === undefined ? '' : `, until ${localTime(until)}`}.${power !== 'system' ? '' : settings.system.ask ? ' You are asked before each program that no rule decides: in the window, or by outrigger-companion prompts.' : ' You are not asked before a program runs.'}`
          : 'The browser is allowed, but no page is opened until this is solved.',
      );
    });

  program
    .command('deny')
    .description(`deny ${powers.join(', ')}`)
    .addArgument(new Argument('<power>', 'what workflows may use').choices(powers))
    .addOption(json())
    .action(async (power: Power, options: { json?: boolean }) => {
      print(
        await change(dataFolder(), { change: 'deny', power }),
        options.json,
        `Workflows may not use ${power} on this machine any more.`,
      );
    });

  program
    .command('share')
    .description('let workflows list and read a folder')
    .argument('<folder>')
    .option('--include-hidden', 'with its hidden files, key stores and browser profiles')
    .option('--receive-downloads', 'also let workflows save downloads of the browser in it')
    .option('--yes', 'confirm a whole home folder or drive without a question')
    .addOption(json())
    .action(async (path: string, options: ShareOptions) => {
      const isWide = existsSync(path) && isWideFolder(realpathSync(path));
      if (isWide) await confirm(`${resolve(path)} ${wideShareWarning}`, options.yes === true);
      const settings = await change(dataFolder(), {
        change: 'share',
        path: resolve(path),
        ...(options.includeHidden === true ? { includeHidden: true } : {}),
        ...(options.receiveDownloads === true ? { receiveDownloads: true } : {}),
        ...(isWide ? { isWide } : {}),
      });
      // Sharing a folder again keeps its earlier options.
      const real = realpathSync(path);
      const verbs = settings.files.downloads.includes(real) ? 'list, read and save downloads in' : 'list and read';
      const hidden = settings.files.hidden.includes(real) ? ', with its hidden files and key stores' : '';
      print(settings, options.json, `Workflows may ${verbs} ${resolve(path)} now${hidden}.`);
    });

  program
    .command('unshare')
    .description('stop sharing a folder')
    .argument('<folder>')
    .addOption(json())
    .action(async (path: string, options: { json?: boolean }) => {
      const folder = dataFolder();
      // A folder that does not exist any more cannot be resolved. The settings have its path as it was typed.
      const known = folder.readSettings().sharedFolders.includes(path) ? path : resolve(path);
      const settings = await change(folder, { change: 'unshare', path: known });
      print(settings, options.json, `Workflows may not read ${known} any more.`);
    });

  const settingsCommand = program
    .command('settings')
    .description('show your settings')
    .addOption(json())
    .action((options: { json?: boolean }) => {
      const settings = dataFolder().readSettings();
      print(settings, options.json, JSON.stringify(settings, null, 2));
    });
  settingsCommand
    .command('accept')
    .description('accept an edit of settings.json by you or another program')
    .option('--yes', 'accept without showing the changes first')
    .addOption(json())
    .action(async (_given: unknown, command: { optsWithGlobals(): { json?: boolean; yes?: boolean } }) => {
      const folder = dataFolder();
      const edited = (await askCompanion(folder, 'state', {}))?.edited ?? null;
      // Only the changes that are shown here are accepted, because a later edit has another hash.
      if (edited !== null && process.stdin.isTTY)
        await confirm(
          edited.changes.map((line) => visibleLine(line)).join('\n'),
          command.optsWithGlobals().yes === true,
        );
      const settings = await change(folder, {
        change: 'accept_settings',
        ...(edited === null || edited.hash === null ? {} : { seen: edited.hash }),
      });
      const lines = [
        ...(edited?.changes ?? []).map((line) => visibleLine(line)),
        'settings.json is in force as it is now.',
      ];
      print(settings, command.optsWithGlobals().json, lines.join('\n'));
    });
  settingsCommand
    .command('discard')
    .description('discard an edit of settings.json that you did not accept')
    .addOption(json())
    .action(async (_given: unknown, command: { optsWithGlobals(): { json?: boolean } }) => {
      const settings = await change(dataFolder(), { change: 'discard_settings' });
      print(
        settings,
        command.optsWithGlobals().json,
        'No edit of settings.json waits for you any more. The settings in force did not change.',
      );
    });

  addRules({ program, dataFolder, print });
}

function addRules({ program, dataFolder, print }: CliContext): void {
  const rules = program
    .command('rules')
    .description('show which programs you allowed or denied')
    .addOption(json())
    .action((options: { json?: boolean }) => {
      const { system } = dataFolder().settingsInForce();
      const lines = [
        `asked      ${system.ask ? 'yes, for what no rule decides' : 'no'}`,
        ...system.rules.map(describeRule),
      ];
      print({ ask: system.ask, rules: system.rules }, options.json, lines.join('\n'));
    });
  for (const decision of ['allow', 'deny'] as const)
    rules
      .command(decision)
      .description(`${decision} a program and its arguments, such as "git status **"`)
      .argument(
        '<pattern>',
        'words of a command line; * matches any part of a word, ** at the end any further words; double quotes enclose a word with spaces',
      )
      .option('--for <time>', 'time limit, such as 30m, 8h or 2d')
      .option(
        '--in <folder>',
        'with allow: permit in this folder and below it, except in folders that receive downloads (default: your home folder itself)',
      )
      .addOption(json())
      .action(
        async (
          pattern: string,
          _given: unknown,
          command: { optsWithGlobals(): { json?: boolean; for?: string; in?: string } },
        ) => {
          const options = command.optsWithGlobals();
          const settings = await change(dataFolder(), {
            change: 'add_rule',
            decision,
            pattern,
            ...(options.in === undefined ? {} : { folder: resolve(options.in) }),
            ...(options.for === undefined ? {} : { minutes: parseMinutes(options.for) }),
          });
          print(settings.system, options.json, describeRule(settings.system.rules.at(-1) as ProgramRule));
        },
      );
  rules
    .command('remove')
    .description('remove a rule')
    .argument('<id>')
    .addOption(json())
    .action(async (id: string, _given: unknown, command: { optsWithGlobals(): { json?: boolean } }) => {
      assertId(id, 'rule', 'rules');
      const settings = await change(dataFolder(), { change: 'remove_rule', id });
      print(settings.system, command.optsWithGlobals().json, `Removed rule ${id}.`);
    });
  program
    .command('ask')
    .description('set whether you are asked before each program that no rule decides')
    .addArgument(new Argument('<switch>', 'ask, or do not ask').choices(['on', 'off']))
    .option('--yes', 'with off: confirm without a question')
    .addOption(json())
    .action(async (given: string, options: { json?: boolean; yes?: boolean }) => {
      if (given === 'off') await confirm(withoutAskingWarning, options.yes === true);
      const settings = await change(dataFolder(), { change: 'ask', ask: given === 'on' });
      print(
        settings.system,
        options.json,
        settings.system.ask
          ? 'You are asked before each program that no rule decides: in the window, or by outrigger-companion prompts.'
          : 'You are not asked any more.',
      );
    });
  addHosts({ program, dataFolder, print });
}

const describeRule = (rule: ProgramRule) => {
  const { id, decision, pattern, exact, folder, until } = rule;
  const where =
    folder === undefined
      ? 'your home folder'
      : `${visibleLine(folder)}${isRuleMoved(rule) ? ', which leads to another folder now, so it permits nothing' : ''}`;
  return `${decision.padEnd(10)} ${visibleLine(pattern)}  (${exact !== null ? 'exactly this' : decision === 'deny' ? 'pattern' : `pattern, in ${where}`}${until === null ? '' : `, until ${localTime(until)}`})  ${id}`;
};

/** The error of a command that needs a running companion. */
export const notRunning = () => new CompanionError('No companion runs; start it with: outrigger-companion run');
