import { Command } from 'commander';
import { describeOrigin } from '../../shared/companion/origin-labels.ts';
import { effectiveSettings, usablePowers } from '../../shared/companion/settings.ts';
import { onStopRequest } from '../../shared/node/process-lifetime.ts';
import { visibleJson, visibleLine } from '../../shared/visible-text.ts';
import { AuditLog } from './audit.ts';
import type { AuditLine } from './audit.ts';
import { assertOwner, asTyped, change, folderOptions, json, makeContext, usageExitCode } from './cli/context.ts';
import { localTime } from './cli/local-time.ts';
import { addPromptCommands } from './cli/prompt-commands.ts';
import { addServiceCommands } from './cli/service-commands.ts';
import { addSettingsCommands } from './cli/settings-commands.ts';
import { addTestCommand } from './cli/test-command.ts';
import { addVariableCommands } from './cli/variable-commands.ts';
import { lacksSandbox, sandboxProblem } from './commands/browser/sandbox.ts';
import { isMoved } from './commands/files.ts';
import { askCompanion } from './control/client.ts';
import { CompanionError } from './data-folder.ts';
import { DeviceSecrets } from './device-secrets.ts';
import { examine, unattended } from './doctor.ts';
import { describeEvent, throttleEvents } from './event-log.ts';
import { appVersion } from './facts.ts';
import { keepHubAddress, pair, proveHub, unpair } from './pairing.ts';
import { isRuleMoved } from './program-rules.ts';
import { describeRunning, statusOf } from './running-status.ts';
import { readOwnFiles } from './state-view.ts';
import { Supervisor } from './supervisor.ts';

/** The command line of the companion. `cli.ts` runs it. */
export const program = new Command('outrigger-companion')
  .description('Lets workflows of an Outrigger hub work on this machine, within what you allow.')
  .version(appVersion)
  .option(
    '--data-folder <folder>',
    'where the companion keeps its files (OUTRIGGER_COMPANION_HOME; .outrigger-companion in your home folder)',
  )
  .exitOverride();

const context = makeContext(program);
const { dataFolder, print } = context;

program
  .command('pair')
  .description('pair this machine with a hub')
  .argument('<code>', 'pairing code, such as ABCD-EFGH')
  .requiredOption('--hub <url>', 'address of the hub')
  .option('--name <name>', 'name of this machine (default: its host name)')
  .option('--insecure', 'allow http to another machine')
  .option('--force', 'pair again although this machine is paired')
  .addOption(json())
  .action(
    async (
      code: string,
      options: { hub: string; name?: string; insecure?: boolean; force?: boolean; json?: boolean },
    ) => {
      const folder = dataFolder();
      const request = {
        code,
        hub: options.hub,
        insecure: options.insecure === true,
        force: options.force === true,
        // The command line has no window that could ask for consent. Its output states where the secret is stored.
        secretInFile: true,
        ...(options.name === undefined ? {} : { name: options.name }),
      };
      const state = await askCompanion(folder, 'pair', request, { timeoutMs: 60_000 });
      if (state === null) assertOwner();
      const { nodeId, hub } = state?.paired ?? (await pair(folder, new DeviceSecrets(null), request));
      const secretLocation =
        state?.paired?.secretIn === 'key_store' ? "the system's key store" : `${folder.path}, readable by you alone`;
      print(
        { nodeId, hub },
        options.json,
        `Paired with ${hub} as node ${nodeId}; its secret is in ${secretLocation}.\n${state === null ? 'Start it with: outrigger-companion run\n' : ''}Then allow what workflows may use, for example: outrigger-companion allow browser; outrigger-companion share ~/Documents`,
      );
    },
  );

program
  .command('run')
  .description('run the companion until you stop it')
  .option('--json', 'print a JSON line for each event')
  .option('--no-channel', 'use HTTP requests only, no WebSocket')
  .option('--pause', 'start paused')
  .action(async (options: { json?: boolean; channel: boolean; pause?: boolean }) => {
    assertOwner();
    const folder = dataFolder();
    if (options.pause === true) await change(folder, { change: 'pause' });
    const {
      settings: { browser },
      broken,
      problem,
    } = readOwnFiles(folder);
    // The companion runs as if it were paused until the file is repaired.
    if (problem !== null && broken.some(({ file }) => file === 'settings'))
      process.stderr.write(`outrigger-companion: ${visibleLine(asTyped(problem))}\n`);
    if (browser.allowed && lacksSandbox())
      process.stderr.write(
        `outrigger-companion: ${asTyped(sandboxProblem(browser) ?? 'THE BROWSER RUNS WITHOUT ITS SANDBOX, AS ROOT: a page that breaks out of it has the whole machine.')}\n`,
      );
    const stop = new AbortController();
    onStopRequest({ onStop: () => stop.abort() });
    const onEvent = throttleEvents((event) =>
      process.stderr.write(
        options.json === true
          ? `${visibleJson({ time: new Date().toISOString(), ...event })}\n`
          : `${new Date().toTimeString().slice(0, 8)}  ${asTyped(describeEvent(event, folderOptions(folder)))}\n`,
      ),
    );
    await new Supervisor({
      folder,
      host: null,
      staysUnpaired: false,
      signal: stop.signal,
      onEvent,
      channel: options.channel,
    }).run();
    onEvent({ event: 'stopped', reason: 'on request' });
    process.exit(0);
  });

program
  .command('status')
  .description('show whether the companion runs, and what it may do')
  .option('--check', 'exit with 1 unless the companion runs and is connected')
  .addOption(json())
  .action(async (options: { json?: boolean; check?: boolean }) => {
    const folder = dataFolder();
    const { pairing, settings: own, problem, broken } = readOwnFiles(folder);
    const state = await askCompanion(folder, 'state', {});
    const running = state === null ? null : statusOf(state);
    // A running companion keeps its settings in memory. Without one, the files decide, as at the next start.
    const settings = effectiveSettings(state?.settings ?? own, folder.now());
    const allowed = usablePowers(settings, Date.now());
    const moved = await Promise.all(settings.sharedFolders.map(isMoved));
    const lines = [
      ...(problem === null ? [] : [`BROKEN     ${problem}`]),
      `paired     ${pairing === null ? 'no' : `${pairing.hub} (node ${pairing.nodeId})`}`,
      `running    ${running === null ? 'no' : describeRunning(running)}`,
      `commands   ${running === null || running.running.length === 0 ? 'none running' : running.running.map(({ type }) => type).join(', ')}`,
      `paused     ${settings.paused ? 'yes: nothing below can be used until you resume' : 'no'}`,
      `allowed    ${allowed.map((power) => (settings.until[power] === undefined ? power : `${power} (until ${localTime(settings.until[power])})`)).join(', ') || 'nothing'}`,
      `shared     ${settings.sharedFolders.join(', ') || 'no folder'}${settings.files.allowed ? '' : ' (files are denied)'}`,
      ...settings.sharedFolders
        .filter((_folder, index) => moved[index])
        .map(
          (path) =>
            `MOVED      ${visibleLine(path)} leads to another folder now and is not shared: put the folder back, or run outrigger-companion unshare and share.`,
        ),
      ...settings.system.rules
        .filter(isRuleMoved)
        .map(
          ({ id, folder: path = '' }) =>
            `MOVED      ${visibleLine(path)} leads to another folder now, so rule ${id} permits nothing: put the folder back, or run outrigger-companion rules remove ${id}.`,
        ),
      ...(settings.system.variables.length > 0 ? [`variables  ${settings.system.variables.join(', ')}`] : []),
      ...(settings.system.ask ? [`asked      before each program that no rule decides`] : []),
      ...(settings.system.allowed && !settings.system.ask ? [`UNATTENDED ${unattended}`] : []),
      ...(running?.edited
        ? [
            `EDITED     ${running.edited.detail}${running.edited.needsConsent ? describeEditChoices(running.edited.pairing) : ''}`,
            ...running.edited.changes.map((line) => `           ${visibleLine(line)}`),
          ]
        : []),
      ...(running?.audit.problem ? [`LOG        ${running.audit.problem}`] : []),
      ...(running !== null && running.audit.unwritten > 0
        ? [`LOG        ${running.audit.unwritten} entries wait for free space on the disk`]
        : []),
    ];
    print(
      { paired: pairing === null ? null : { nodeId: pairing.nodeId, hub: pairing.hub }, running, settings, broken },
      options.json,
      lines.join('\n'),
    );
    if (problem !== null || (options.check === true && running?.connected !== true)) process.exitCode = 1;
  });

addSettingsCommands(context);
addVariableCommands(context);
addPromptCommands(context);
addTestCommand(context);
addServiceCommands(context);

const audit = program
  .command('audit')
  .description('show what workflows did on this machine, newest last')
  .option('--limit <number>', 'maximum number of entries', '50')
  .addOption(json())
  .action((options: { limit: string; json?: boolean }) => {
    const limit = Number(options.limit);
    if (!Number.isInteger(limit) || limit < 1)
      throw new CompanionError(`--limit must be a whole number of at least 1 (it is "${options.limit}").`, {
        exitCode: usageExitCode,
      });
    const lines = new AuditLog(dataFolder().audit).read(limit);
    print(lines, options.json, lines.map(describeEntry).join('\n') || 'No command yet.');
  });

audit
  .command('verify')
  .description('check that no entry of the log was changed or removed; exits with 1 if one was')
  .addOption(json())
  .action(async (_given: unknown, command: { optsWithGlobals(): { json?: boolean } }) => {
    const folder = dataFolder();
    const running = await askCompanion(folder, 'verifyAudit', {}, { timeoutMs: 60_000 });
    const verdict = running ?? new AuditLog(folder.audit).verify();
    print(
      verdict,
      command.optsWithGlobals().json,
      `${verdict.problem ?? `${verdict.entries} entries verified.`}${running === null ? '\nNo companion runs, so the log was not compared with the record of the hub.' : ''}`,
    );
    if (!verdict.ok) process.exitCode = 1;
  });

audit
  .command('set-aside')
  .description('set a log aside that is not intact, and start a new one')
  .addOption(json())
  .action(async (_given: unknown, command: { optsWithGlobals(): { json?: boolean } }) => {
    const folder = dataFolder();
    const state = await askCompanion(folder, 'setAuditAside', {});
    if (state === null) {
      assertOwner();
      new AuditLog(folder.audit).setAside({ waits: false });
    }
    const waiting = state?.audit.unwritten ?? 0;
    print(
      { ok: waiting === 0 },
      command.optsWithGlobals().json,
      waiting === 0
        ? 'Started a new log. The old one is kept beside it.'
        : `The old log is set aside, but the new log can't be written: ${waiting} entries wait in the running companion. Free space on its disk.`,
    );
    if (waiting > 0) process.exitCode = 1;
  });

/** The commands that accept or discard a waiting edit, for the line that shows the edit. */
function describeEditChoices(withPairing: boolean): string {
  const accept = `To accept ${withPairing ? 'the pairing and settings.json' : 'the change'}, run outrigger-companion settings accept.`;
  return ` ${accept}${withPairing ? '' : ' To discard the change, run outrigger-companion settings discard.'}`;
}

/** An entry of the log in a few lines. */
function describeEntry(line: AuditLine): string {
  const { time, outcome, type, summary, origin = null, approvedBy, message, script } = line;
  const isOwn = approvedBy === null && origin === null;
  return [
    `${localTime(time)}  ${outcome.padEnd(18)} ${visibleLine(type).padEnd(20)} ${visibleLine(summary)}`,
    ...(isOwn ? [] : describeOrigin(origin, approvedBy).map(([name, words]) => `    ${name}: ${visibleLine(words)}`)),
    ...(script === undefined ? [] : [`    script: ${script.characters} characters, SHA-256 ${script.sha256}`]),
    ...(message === null ? [] : [`    ${visibleLine(message)}`]),
  ].join('\n');
}

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
  .command('hub')
  .description('change the hub of this machine')
  .command('set')
  .description('set a new address of the same hub; the node stays the same')
  .argument('<url>', 'new address of the hub')
  .option('--insecure', 'allow http to another machine')
  .addOption(json())
  .action(async (url: string, options: { insecure?: boolean; json?: boolean }) => {
    const folder = dataFolder();
    const request = { hub: url, insecure: options.insecure === true };
    const state = await askCompanion(folder, 'moveHub', request, { timeoutMs: 60_000 });
    if (state === null) {
      assertOwner();
      keepHubAddress(folder, await proveHub(folder, new DeviceSecrets(null), request));
    }
    const pairing = folder.readPairing();
    print(
      { nodeId: pairing?.nodeId, hub: pairing?.hub },
      options.json,
      `This machine is node ${pairing?.nodeId} of ${pairing?.hub} now.`,
    );
  });

program
  .command('unpair')
  .description('remove the pairing; what you allowed stays as it is')
  .addOption(json())
  .action(async (options: { json?: boolean }) => {
    const folder = dataFolder();
    const pairing = folder.readPairing();
    const unpaired = await askCompanion(folder, 'unpair', {}, { timeoutMs: 60_000 });
    if (unpaired === null) assertOwner();
    const { nodeId, hubKnows } = unpaired ?? (await unpair(folder, new DeviceSecrets(null)));
    print(
      { unpaired: nodeId, hubKnows },
      options.json,
      nodeId === null
        ? 'This machine was not paired.'
        : `Unpaired from ${pairing?.hub ?? 'the hub'}. ${hubKnows ? 'The hub revoked the node.' : `The hub could not be informed: revoke node ${nodeId} there too.`}`,
    );
  });
