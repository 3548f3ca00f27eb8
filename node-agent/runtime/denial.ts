import type { z } from 'zod';
import type { CommandDefinition } from '../../shared/commands/define.ts';
import type { systemRun } from '../../shared/commands/system.ts';
import type { LocalSettings } from '../../shared/companion/settings.ts';
import { navigationProblem } from './commands/browser/host-rules.ts';
import { sandboxProblem } from './commands/browser/sandbox.ts';
import { CommandError } from './commands/handler.ts';
import { programProblem } from './commands/system.ts';
import { variableProblem } from './commands/variables.ts';

/** Whether a command reads shared folders. `whyNotShared` compares the opened path with the settings. */
export const isFileCommand = (type: string) => type === 'node.files_list' || type === 'node.files_read';

/** Why the owner does not allow the permission that a command needs. Null when it is allowed, or none is needed. */
export function powerDenial({ type, gate }: CommandDefinition, settings: LocalSettings): CommandError | null {
  const switches: Record<string, { on: boolean; name: string }> = {
    'node.capture_screen': { on: settings.capture.screen, name: 'screen' },
    'node.capture_camera': { on: settings.capture.camera, name: 'camera' },
    'node.capture_audio': { on: settings.capture.audio, name: 'audio' },
  };
  const byGate = {
    none: undefined,
    system: { on: settings.system.allowed, name: 'system' },
    browser: { on: settings.browser.allowed, name: 'browser' },
  }[gate];
  const needed =
    switches[type] ?? (isFileCommand(type) ? { on: settings.files.allowed, name: 'files' } : undefined) ?? byGate;
  if (needed === undefined) return null;
  if (settings.paused) return paused();
  if (!needed.on)
    return denied(
      `The owner of this machine does not allow ${type}; they allow it with: outrigger-companion allow ${needed.name}`,
    );
  if (type === 'browser.evaluate' && !settings.browser.evaluate)
    return denied('The owner of this machine switched browser.evaluate off.');
  return null;
}

const paused = () => new CommandError('paused', 'The owner of this machine paused the companion.');
const denied = (message: string) => new CommandError('denied_by_device', message);

/**
 * Why the owner's settings do not let a command run, or null when they do. It is checked before a command starts, and
 * for running commands whenever the settings change.
 */
export function denialOf(definition: CommandDefinition, input: unknown, settings: LocalSettings): CommandError | null {
  if (settings.paused) return paused();
  const { type, gate } = definition;
  const refused = powerDenial(definition, settings);
  if (refused !== null) return refused;
  const usesFiles =
    (input as { files?: { path?: string }[] }).files?.some(({ path }) => path !== undefined) === true ||
    (input as { saveDownloadsTo?: string }).saveDownloadsTo !== undefined;
  if (gate === 'browser' && usesFiles && !settings.files.allowed)
    return denied(
      `The owner of this machine does not allow ${type} to use files; they allow it with: outrigger-companion allow files`,
    );
  if (gate === 'browser') {
    const unsafe = sandboxProblem(settings.browser);
    if (unsafe !== null) return denied(unsafe);
  }
  if (type === 'system.run') {
    const { argv, env = {} } = input as z.output<typeof systemRun.input>;
    const problem = programProblem(argv[0] as string, settings.system.programs);
    if (problem !== null) return denied(problem);
    const refusedVariable = variableProblem(env, settings.system.variables);
    if (refusedVariable !== null) return new CommandError('denied_by_policy', refusedVariable);
  }
  if (type === 'browser.navigate') {
    const problem = navigationProblem((input as { url: string }).url, settings.browser);
    if (problem !== null) return new CommandError('denied_by_policy', `${problem}.`);
  }
  return null;
}
