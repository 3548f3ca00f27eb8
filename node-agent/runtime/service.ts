import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, realpathSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { visibleLine } from '../../shared/visible-text.ts';
import { CompanionError, folderSuffix } from './data-folder.ts';
import { createOwnFile } from './own-file.ts';
import { appImageOf } from './running-app-image.ts';

/** Installs a companion without a window as a service of the user's systemd, which restarts it when it fails. */

const deadlineMs = 20_000;
/** The program that the unit starts: the app, which contains the command line, or the command that runs now. */
export const serviceProgram = () =>
  process.versions['electron'] === undefined
    ? [process.execPath, realpathSync(process.argv[1] as string)]
    : [appImageOf(process.execPath, process.env) ?? process.execPath];

interface Unit {
  name: string;
  path: string;
  text: string;
}

/** Quotes one word for a unit, and doubles the characters that systemd expands. */
function quote(word: string): string {
  if (/[\n\r\0]/.test(word))
    throw new CompanionError(`${JSON.stringify(word)} has a line break, which a unit cannot contain.`);
  return `"${word
    .replaceAll(/["\\]/g, String.raw`\$&`)
    .replaceAll('%', '%%')
    .replaceAll('$', '$$$$')}"`;
}

/** systemd does not allow quotes and similar characters in the path of a program, so a shell starts those programs. */
const startCommand = (words: string[]) =>
  /["'\\$%]/.test(words[0] ?? '') ? ['/bin/sh', '-c', 'exec "$0" "$@"', ...words] : words;

/**
 * The unit for a data folder. A folder other than the default has its own unit name, so each hub can have a service.
 */
export function describeUnit(folder: string, program: readonly string[], environment: NodeJS.ProcessEnv): Unit {
  const name = `outrigger-companion${folderSuffix(folder)}.service`;
  const configHome = environment['XDG_CONFIG_HOME'];
  const config = configHome !== undefined && isAbsolute(configHome) ? configHome : join(homedir(), '.config');
  // A desktop sets the address of its display only when it has started.
  const isDesktop = Boolean(environment['DISPLAY'] || environment['WAYLAND_DISPLAY']);
  const target = isDesktop ? 'graphical-session.target' : 'default.target';
  const text = `[Unit]
Description=Outrigger companion of ${folder.replaceAll('%', '%%')}
Documentation=man:systemd.service(5)
${isDesktop ? `After=${target}\nPartOf=${target}\n` : ''}StartLimitIntervalSec=600
StartLimitBurst=10

[Service]
ExecStart=${startCommand([...program, '--data-folder', folder, 'run'])
    .map(quote)
    .join(' ')}
Restart=on-failure
RestartSec=10
KillMode=mixed
TimeoutStopSec=20
UMask=0077
LimitCORE=0
OOMPolicy=continue
# NoNewPrivileges and options that imply it are not set: browser sandboxes and browsers from snaps need setuid helpers.
# Devices, sockets and /tmp are not restricted, because screen, camera and microphone need them.

[Install]
WantedBy=${target}
`;
  return { name, path: join(config, 'systemd/user', name), text };
}

async function systemctl(...args: string[]): Promise<{ code: number | string; text: string }> {
  try {
    const { stdout } = await promisify(execFile)('systemctl', ['--user', ...args], { timeout: deadlineMs });
    return { code: 0, text: stdout.trim() };
  } catch (error) {
    const { code, stdout, stderr } = error as { code?: number | string; stdout?: string; stderr?: string };
    return { code: code ?? 'timeout', text: (stderr || stdout || '').trim() };
  }
}

async function assertSystemd(): Promise<void> {
  const { code, text } = await systemctl('show-environment');
  if (code === 0) return;
  const why =
    code === 'ENOENT' ? 'there is no systemctl' : visibleLine(text.split('\n')[0] ?? '') || `it answers ${code}`;
  throw new CompanionError(
    `This needs the systemd of your user, which is not available (${why}). Nothing was changed. Start the companion in another way: outrigger-companion run`,
  );
}

async function runSystemctl(...args: string[]): Promise<void> {
  const { code, text } = await systemctl(...args);
  if (code !== 0)
    throw new CompanionError(
      `systemctl --user ${args.join(' ')} failed (${visibleLine(text.split('\n')[0] ?? String(code))}).`,
    );
}

/** Writes a unit and starts it. @returns a text for the owner. @throws CompanionError that says what to do. */
export async function installService(unit: Unit, isPaired: boolean): Promise<string> {
  if (!isPaired)
    throw new CompanionError(
      'This machine is not paired; pair it first, with: outrigger-companion pair CODE --hub URL',
    );
  await assertSystemd();
  mkdirSync(resolve(unit.path, '..'), { recursive: true });
  const temporary = `${unit.path}.new-${process.pid}`;
  createOwnFile(temporary, unit.text, 0o644);
  renameSync(temporary, unit.path);
  await runSystemctl('daemon-reload');
  await runSystemctl('enable', unit.name);
  await runSystemctl('restart', unit.name);
  const isShortLived = serviceProgram().some((word) => word.includes('/_npx/'));
  return [
    `Wrote ${unit.path}, and started it; it starts again whenever you sign in.`,
    `See its log with: journalctl --user --unit ${unit.name} --follow`,
    'To run it also while you are not signed in: loginctl enable-linger',
    ...(isShortLived
      ? [`It runs from the cache of npx, which npm may clear; better: npm install --global outrigger-companion`]
      : []),
  ].join('\n');
}

/** Stops a unit and removes it. @returns a text for the owner. */
export async function uninstallService(unit: Unit): Promise<string> {
  if (!existsSync(unit.path)) return `There is no ${unit.path}; nothing was changed.`;
  await assertSystemd();
  await runSystemctl('disable', '--now', unit.name);
  rmSync(unit.path, { force: true });
  await runSystemctl('daemon-reload');
  return `Stopped it, and removed ${unit.path}. This machine stays paired; remove the pairing with: outrigger-companion unpair`;
}

/** Describes the state of a unit in lines for the owner. */
export async function describeService(unit: Unit): Promise<string> {
  if (!existsSync(unit.path)) return 'not installed; install it with: outrigger-companion service install';
  const { text } = await systemctl('is-active', unit.name);
  const { text: enabled } = await systemctl('is-enabled', unit.name);
  return [
    `unit       ${unit.path}`,
    `state      ${visibleLine(text.split('\n')[0] ?? '') || 'unknown'}`,
    `at login   ${visibleLine(enabled.split('\n')[0] ?? '') || 'unknown'}`,
    `log        journalctl --user --unit ${unit.name}`,
  ].join('\n');
}
