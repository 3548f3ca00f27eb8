#!/usr/bin/env node
import { realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { Argument, Command, CommanderError, Option } from 'commander';
import { isAllowed, powers, setAllowed } from '../../shared/companion/settings.ts';
import type { LocalSettings, Power } from '../../shared/companion/settings.ts';
import { whenAskedToStop } from '../../shared/launcher/lifetime.js';
import { visibleLine, visibleText } from '../../shared/visible-text.ts';
import { AuditLog } from './audit.ts';
import { lacksSandbox, sandboxProblem } from './commands/browser/sandbox.ts';
import { Companion } from './companion.ts';
import { CompanionError, DataFolder } from './data-folder.ts';
import { examine } from './doctor.ts';
import { describeEvent, tellOnce } from './event-log.ts';
import { appVersion, describeDevice } from './facts.ts';
import { HubClient } from './hub-client.ts';
import { HubError } from './hub-error.ts';
import { askStatus, describeRunning } from './owner.ts';

const pairDeadlineMs = 20_000;

const program = new Command('outrigger-companion')
  .description('Lets workflows of an Outrigger hub work on this machine, within what you allow.')
  .version(appVersion)
  .option(
    '--data-folder <folder>',
    'where the companion keeps its files (OUTRIGGER_COMPANION_HOME; .outrigger-companion in your home folder)',
  )
  .exitOverride();

const json = () => new Option('--json', 'print JSON');
const dataFolder = () =>
  new DataFolder(
    program.opts<{ dataFolder?: string }>().dataFolder ?? (process.env['OUTRIGGER_COMPANION_HOME'] || undefined),
  );
const say = (text: string): void => {
  process.stdout.write(`${text}\n`);
};
const print = (value: unknown, asJson: boolean | undefined, text: string): void => {
  say(asJson === true ? JSON.stringify(value, null, 2) : visibleText(text));
};

/** Plain http would show the device secret to whoever is on the way. */
function checkHub(hub: string, insecure: boolean): string {
  if (!URL.canParse(hub) || !['http:', 'https:'].includes(new URL(hub).protocol))
    throw new CompanionError(`--hub must be an http or https address (it is "${hub.slice(0, 100)}").`);
  const { protocol, hostname, origin, pathname } = new URL(hub);
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
  if (protocol === 'http:' && !isLocal && !insecure)
    throw new CompanionError(
      `${hub} is not encrypted: whoever is on the way could take this machine over. Use an https address, or --insecure on a network that you trust.`,
    );
  return `${origin}${pathname.replace(/\/+$/, '')}`;
}

program
  .command('pair')
  .description('pair this machine with a hub')
  .argument('<code>', 'pairing code, such as ABCD-EFGH')
  .requiredOption('--hub <url>', 'address of the hub')
  .option('--name <name>', 'name of this machine; its host name when left out')
  .option('--insecure', 'allow http to another machine')
  .option('--force', 'pair anew, although this machine is paired')
  .addOption(json())
  .action(
    async (
      code: string,
      options: { hub: string; name?: string; insecure?: boolean; force?: boolean; json?: boolean },
    ) => {
      const folder = dataFolder();
      const hub = checkHub(options.hub, options.insecure === true);
      const paired = folder.readIdentity();
      if (paired !== null && options.force !== true)
        throw new CompanionError(`This machine is paired with ${paired.hub} already; unpair it first, or use --force.`);
      const device = describeDevice(folder.readSettings(), options.name);
      const { body } = await new HubClient(hub, null).call(
        'claimAutomationNode',
        { body: { pairingCode: code, device } },
        { signal: AbortSignal.timeout(pairDeadlineMs), timeoutMs: pairDeadlineMs },
      );
      folder.writeIdentity({
        nodeId: body.nodeId,
        deviceSecret: body.deviceSecret,
        hub,
        name: options.name,
        pairedAt: new Date().toISOString(),
      });
      print(
        { nodeId: body.nodeId, hub },
        options.json,
        `Paired with ${hub} as node ${body.nodeId}.\nStart it with: outrigger-companion run\nAllow what you like, for example: outrigger-companion allow browser; outrigger-companion share ~/Documents`,
      );
    },
  );

program
  .command('run')
  .description('work for the hub until you stop it')
  .option('--json', 'print a JSON line for each event')
  .option('--no-channel', 'use requests alone, and no WebSocket')
  .action(async (options: { json?: boolean; channel: boolean }) => {
    const folder = dataFolder();
    const { browser } = folder.readSettings();
    if (browser.allowed && lacksSandbox())
      process.stderr.write(
        `outrigger-companion: ${sandboxProblem(browser) ?? 'THE BROWSER RUNS WITHOUT ITS SANDBOX, AS ROOT: a page that breaks out of it has the whole machine.'}\n`,
      );
    const identity = folder.readIdentity();
    if (identity === null)
      throw new CompanionError('This machine is not paired; pair it with: outrigger-companion pair CODE --hub URL');
    const stop = new AbortController();
    whenAskedToStop({ onStop: () => stop.abort() });
    const onEvent = tellOnce((event) =>
      process.stderr.write(
        options.json === true
          ? `${JSON.stringify({ time: new Date().toISOString(), ...event })}\n`
          : `${new Date().toTimeString().slice(0, 8)}  ${describeEvent(event)}\n`,
      ),
    );
    await new Companion({ folder, identity, signal: stop.signal, onEvent, channel: options.channel }).run();
    onEvent({ event: 'stopped', reason: 'as you asked' });
    process.exit(0);
  });

program
  .command('status')
  .description('show whether the companion runs, and what it may do')
  .addOption(json())
  .action(async (options: { json?: boolean }) => {
    const folder = dataFolder();
    const [identity, settings, running] = [folder.readIdentity(), folder.readSettings(), await askStatus(folder)];
    const lines = [
      `paired     ${identity === null ? 'no' : `${identity.hub} (node ${identity.nodeId})`}`,
      `running    ${running === null ? 'no' : describeRunning(running)}`,
      `commands   ${running === null || running.running.length === 0 ? 'none under way' : running.running.map(({ type }) => type).join(', ')}`,
      `paused     ${settings.paused ? 'yes' : 'no'}`,
      `allowed    ${powers.filter((power) => isAllowed(settings, power, Date.now())).join(', ') || 'nothing'}`,
      `shared     ${settings.sharedFolders.join(', ') || 'no folder'}`,
    ];
    print(
      { paired: identity === null ? null : { nodeId: identity.nodeId, hub: identity.hub }, running, settings },
      options.json,
      lines.join('\n'),
    );
  });

const change = (name: string, description: string, done: string, apply: (settings: LocalSettings) => void) =>
  program
    .command(name)
    .description(description)
    .addOption(json())
    .action((options: { json?: boolean }) => {
      print(dataFolder().changeSettings(apply), options.json, done);
    });

change(
  'pause',
  'refuse every command, and end those under way',
  'Paused: every command is refused until you resume.',
  (settings) => {
    settings.paused = true;
  },
);
change('resume', 'take commands again', 'Resumed.', (settings) => {
  settings.paused = false;
});

for (const [name, allowed] of [
  ['allow', true],
  ['deny', false],
] as const) {
  program
    .command(name)
    .description(`${name} ${powers.join(', ')}`)
    .addArgument(new Argument('<power>').choices(powers))
    .option('--program <path...>', 'with system: only these programs')
    .option('--without-sandbox', 'with browser: also as root, where Chromium has no sandbox')
    .addOption(json())
    .action((power: Power, options: { json?: boolean; program?: string[]; withoutSandbox?: boolean }) => {
      const settings = dataFolder().changeSettings((current) => {
        setAllowed(current, power, allowed);
        if (power === 'system' && options.program !== undefined) current.system.programs = options.program;
        if (power === 'browser') current.browser.withoutSandbox = allowed && options.withoutSandbox === true;
      });
      const unsafe = power === 'browser' && allowed ? sandboxProblem(settings.browser) : null;
      if (unsafe !== null) process.stderr.write(`outrigger-companion: ${unsafe}\n`);
      const may =
        unsafe === null
          ? `Workflows may use ${power} on this machine now.`
          : 'It is switched on, but no page is opened as long as that is so.';
      print(settings, options.json, allowed ? may : `Workflows may not use ${power} on this machine any more.`);
    });
}

program
  .command('share')
  .description('let workflows list and read a folder')
  .argument('<folder>')
  .addOption(json())
  .action((path: string, options: { json?: boolean }) => {
    const absolute = resolve(path);
    if (statSync(absolute, { throwIfNoEntry: false })?.isDirectory() !== true)
      throw new CompanionError(`${absolute} is not a folder.`);
    const real = realpathSync(absolute);
    const settings = dataFolder().changeSettings((current) => {
      if (!current.sharedFolders.includes(real)) current.sharedFolders.push(real);
    });
    print(settings, options.json, `Workflows may list and read ${real} now.`);
  });

program
  .command('unshare')
  .description('take a shared folder back')
  .argument('<folder>')
  .addOption(json())
  .action((path: string, options: { json?: boolean }) => {
    const absolute = resolve(path);
    const settings = dataFolder().changeSettings((current) => {
      const left = current.sharedFolders.filter((folder) => folder !== absolute && folder !== path);
      if (left.length === current.sharedFolders.length)
        throw new CompanionError(
          `${absolute} is not shared; shared are ${current.sharedFolders.join(', ') || 'none'}.`,
        );
      current.sharedFolders = left;
    });
    print(settings, options.json, `Workflows may not read ${absolute} any more.`);
  });

program
  .command('audit')
  .description('show what workflows did on this machine, newest last')
  .option('--limit <number>', 'lines at most', '50')
  .addOption(json())
  .action((options: { limit: string; json?: boolean }) => {
    const limit = Number(options.limit);
    if (!Number.isInteger(limit) || limit < 1)
      throw new CompanionError(`--limit must be a whole number of at least 1 (it is "${options.limit}").`);
    const lines = new AuditLog(dataFolder().audit).read(limit);
    const text = lines.map(
      (line) =>
        `${line.time}  ${line.outcome.padEnd(22)} ${visibleLine(line.type).padEnd(20)} ${visibleLine(line.summary)}${line.approvedBy === null ? '' : `  approved by ${visibleLine(line.approvedBy)}`}`,
    );
    print(lines, options.json, text.join('\n') || 'No command yet.');
  });

program
  .command('doctor')
  .description('check what the companion needs on this machine')
  .addOption(json())
  .action(async (options: { json?: boolean }) => {
    const checks = await examine(dataFolder());
    print(
      checks,
      options.json,
      checks.map(({ check, state, detail }) => `${state.padEnd(5)} ${check.padEnd(14)} ${detail}`).join('\n'),
    );
    if (checks.some(({ state }) => state === 'fail')) process.exitCode = 1;
  });

program
  .command('unpair')
  .description('forget the hub; what you allowed stays as it is')
  .addOption(json())
  .action(async (options: { json?: boolean }) => {
    const folder = dataFolder();
    const running = await askStatus(folder);
    if (running !== null) throw new CompanionError(`It is running (process ${running.pid}); stop it first.`);
    const identity = folder.readIdentity();
    folder.removeIdentity();
    print(
      { unpaired: identity?.nodeId ?? null },
      options.json,
      identity === null
        ? 'This machine was not paired.'
        : `Forgot ${identity.hub}. Revoke node ${identity.nodeId} there too.`,
    );
  });

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? 0 : 2;
  } else {
    const message =
      error instanceof CompanionError || error instanceof HubError
        ? error.message
        : `a fault of its own: ${(error as Error).message}`;
    process.stderr.write(`outrigger-companion: ${visibleLine(message)}\n`);
    process.exit(error instanceof CompanionError ? error.exitCode : 1);
  }
}
