import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { commands, isCommandType } from '../../shared/commands/catalog.ts';
import type { CommandType } from '../../shared/commands/catalog.ts';
import type { CommandDefinition } from '../../shared/commands/define.ts';
import type { LocalSettings } from '../../shared/companion/settings.ts';
import type { CompanionState, EndReason } from '../../shared/companion/state.ts';
import type { CommandResult } from '../../shared/contract/nodes/command-result.ts';
import { toStorableText } from '../../shared/json.ts';
import { admit } from './admission.ts';
import { storeArtifacts } from './artifact-files.ts';
import { shortenMessage, scriptOf, summarise } from './audit-line.ts';
import type { CommandFacts } from './audit-line.ts';
import type { AuditLine, AuditLog } from './audit.ts';
import { browserHandlers } from './commands/browser.ts';
import { BrowserSession } from './commands/browser/session.ts';
import { captureHandlers } from './commands/capture.ts';
import { fileHandlers, whyNotShared } from './commands/files.ts';
import type { OpenedPath } from './commands/files.ts';
import { CommandError, interruption } from './commands/handler.ts';
import type {
  CommandProgress,
  CommandContext,
  CommandHandler,
  CommandHandlers,
  HubFile,
  ResultArtifact,
} from './commands/handler.ts';
import { systemHandlers } from './commands/system.ts';
import { LogFileError } from './companion-error.ts';
import type { DataFolder } from './data-folder.ts';
import { denialOf, isFileCommand } from './denial.ts';
import { appVersion } from './facts.ts';
import type { HostPort } from './host-port.ts';
import type { ReceivedCommand } from './hub-answers.ts';
import type { FinishedCommand, Journal } from './journal.ts';
import { recordSettingsHash } from './owner-changes.ts';
import { answerWords, ruleDenial } from './owner-consent.ts';
import { ProcessGuard } from './process-guard.ts';
import type { Prompts } from './prompts.ts';
import type { PictureKeeper } from './sent-pictures.ts';
import { untilAborted } from './until-aborted.ts';

const browserGraceMs = 5_000;

const startedBefore =
  'This machine started the command before, and does not know how it ended; look at it before you retry.';
const describeUnwritable = (error: unknown) =>
  error instanceof LogFileError
    ? `The command was not started, because this machine cannot record it. ${error.message}`
    : `The command was not started, because this machine cannot record it: its data folder cannot be written (${(error as NodeJS.ErrnoException).code ?? (error as Error).message}). Free space on its disk, then run the command again.`;

/** The fields that all log entries of a command share. */
export function auditFactsOf({ id, type, input, approval, origin }: ReceivedCommand) {
  const script = scriptOf(type, input);
  return {
    time: new Date().toISOString(),
    commandId: id,
    type: type.slice(0, 100),
    summary: summarise(type, input),
    ...(script === undefined ? {} : { script }),
    approvedBy: approval?.approvedBy ?? null,
    origin: origin?.reason === undefined ? (origin ?? null) : { ...origin, reason: shortenMessage(origin.reason) },
  };
}

/** Removes the temporary files of a command. Files that cannot be removed now are removed at the next start. */
function removeTemporary(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // Without a free file handle, for example. The command has its result.
  }
}

/** The file or folder that a file command opened. Null for other commands, and before the file is open. */
function openedBy({ type, input, realPath }: Running): OpenedPath | null {
  const { path } = input;
  return isFileCommand(type) && typeof path === 'string' && realPath !== null ? { path, realPath } : null;
}

function sourceOf(
  running: Running,
  { acts }: CommandProgress,
  line: CommandFacts & { type: string },
): NonNullable<FinishedCommand['source']> {
  const file = openedBy(running);
  return { type: line.type, acts, ...(file === null ? {} : { file }), line };
}

interface Running {
  /** The owner's settings in force. Null until the command is admitted or the settings change. */
  settings: LocalSettings | null;
  type: string;
  input: Record<string, unknown>;
  startedAt: string;
  abort: AbortController;
  /** The file or folder that the command opened last, with all links resolved. */
  realPath: string | null;
}

/** Ends a command that the new settings deny, or that cannot be checked: a program can remove its own file. */
async function endIfDenied(running: Running, settings: LocalSettings): Promise<void> {
  const { type, input, abort } = running;
  const file = openedBy(running);
  const definition = isCommandType(type) ? (commands[type] as CommandDefinition) : undefined;
  const parsed = definition?.input.safeParse(input);
  if (definition === undefined || parsed?.success !== true) return;
  try {
    const denied =
      denialOf(definition, parsed.data, settings) ??
      (await ruleDenial(type, parsed.data, settings)) ??
      (file === null ? null : await whyNotShared(file, settings));
    if (denied !== null) abort.abort(denied);
  } catch (error) {
    const message = `The command could not be compared with the owner's new settings: ${(error as Error).message}`;
    abort.abort(new CommandError('denied_by_device', message, { cause: error }));
  }
}

/** A running command, in the form that the owner sees. */
export type RunningCommand = CompanionState['running'][number];

export interface DispatcherOptions {
  folder: DataFolder;
  journal: Journal;
  audit: AuditLog;
  nodeId: string;
  guard: ProcessGuard;
  /** The browser session of the data folder's profile, when other parts of the process also use it. */
  browser: BrowserSession | undefined;
  /** The app around this runtime, which may capture the screen, camera and sound itself. */
  host: HostPort | null;
  /** Prompts for the owner. Without them, commands that need the owner's answer are refused. */
  prompts: Prompts | undefined;
  pictures: PictureKeeper | undefined;
  /** Reads an artifact of a command's run from the hub. @throws CommandError */
  readArtifact: (
    commandId: string,
    artifactId: string,
    options: { signal: AbortSignal; maxBytes: number },
  ) => Promise<HubFile>;
  /** Called when the maximum number of pages is open, to close the pages of runs that ended. */
  onBrowserFull: () => Promise<void>;
  onChange: () => void;
  onOutcome: (line: AuditLine) => void;
}

/**
 * Runs commands: parses them again, applies the owner's settings, and writes the journal. A command that acts never
 * runs twice.
 */
export class Dispatcher implements AsyncDisposable {
  readonly #options: DispatcherOptions;
  readonly #browser: BrowserSession;
  readonly #handlers: CommandHandlers;
  readonly #executing = new Set<Promise<FinishedCommand>>();
  readonly #running = new Map<string, Running>();

  constructor(options: DispatcherOptions) {
    this.#options = options;
    const { guard, folder } = options;
    this.#browser = options.browser ?? new BrowserSession(folder.browserProfile);
    this.#browser.onFull = options.onBrowserFull;
    this.#handlers = {
      'node.ping': async () => ({ pong: true, latencyMs: 0, appVersion }),
      ...captureHandlers(guard, options.host ?? undefined),
      ...fileHandlers(),
      ...systemHandlers(guard),
      ...browserHandlers(this.#browser),
    };
  }

  /** Commands that run now. */
  get running(): RunningCommand[] {
    return [...this.#running].map(([id, { type, input, startedAt }]) => ({
      id,
      type,
      summary: summarise(type, input),
      startedAt,
    }));
  }

  /** Ends a command that the hub withdrew. */
  withdraw(commandId: string): void {
    this.#running.get(commandId)?.abort.abort(new CommandError('withdrawn', 'The hub withdrew the command.'));
  }

  /** Ends every command, for the reason given. */
  endAll(code: string, message: string, reason?: EndReason): void {
    const options = reason === undefined ? {} : { reason };
    for (const { abort } of this.#running.values()) abort.abort(new CommandError(code, message, options));
  }

  /** Ends every command, for the reason given, and the browser, because pages can act without a command. */
  async denyAll(code: string, message: string): Promise<void> {
    this.endAll(code, message);
    await this.#browser.end(message.replace(/\.$/, ''));
  }

  /** Immediately ends running commands and closes open pages that the new settings deny. */
  async applySettings(settings: LocalSettings): Promise<void> {
    for (const running of this.#running.values()) running.settings = settings;
    const compared = [...this.#running.values()].map((running) => endIfDenied(running, settings));
    await this.#browser.applySettings(settings.browser, (denied) => {
      for (const { type, abort } of this.#running.values()) if (type.startsWith('browser.')) abort.abort(denied);
    });
    await Promise.all(compared);
  }

  /** Runs that have browser pages open here. */
  get browserRuns(): string[] {
    return this.#browser.runIds;
  }

  /** Restarts the idle time-out of the browser pages of runs that the hub confirmed as open. */
  confirmRuns(runIds: readonly string[]): void {
    this.#browser.confirmRuns(runIds);
  }

  /** Closes the browser pages of runs that have ended. */
  endRuns(runIds: readonly string[]): Promise<void> {
    return this.#browser.endRuns(runIds);
  }

  /**
   * Runs one command. It always resolves to a result for the hub. A command that acts and was started before does not
   * run again.
   */
  execute(command: ReceivedCommand): Promise<FinishedCommand> {
    const executed = this.#execute(command).finally(() => this.#executing.delete(executed));
    this.#executing.add(executed);
    return executed;
  }

  /** Resolves when no command runs. All results are then in the journal and in the owner's log. */
  async idle(): Promise<void> {
    while (this.#executing.size > 0) await Promise.allSettled(this.#executing);
  }

  async #execute(command: ReceivedCommand): Promise<FinishedCommand> {
    const definition = isCommandType(command.type) ? (commands[command.type] as CommandDefinition) : undefined;
    const entry: CommandProgress = { type: command.type, acts: definition?.acts ?? false, beganAt: null, reason: null };
    const abort = new AbortController();
    const running: Running = {
      settings: null,
      type: command.type,
      input: command.input,
      startedAt: new Date().toISOString(),
      abort,
      realPath: null,
    };
    this.#running.set(command.id, running);
    this.#options.onChange();
    const receivedAt = performance.now();
    const done = await this.#carryOut(command, definition, entry, abort.signal).finally(() =>
      this.#running.delete(command.id),
    );
    const { result } = done;
    const facts = auditFactsOf(command);
    const finished: FinishedCommand = { ...done, source: sourceOf(running, entry, facts) };
    const line: AuditLine = {
      ...facts,
      phase: 'ended',
      outcome: result.status === 'succeeded' ? 'succeeded' : (result.error?.code ?? 'failed'),
      message: result.error === undefined ? null : shortenMessage(result.error.message),
      reason: entry.reason,
      durationMs: Math.round(performance.now() - (entry.beganAt ?? receivedAt)),
      began: entry.beganAt !== null,
    };
    try {
      this.#options.audit.appendLater(line);
      this.#options.journal.finish(finished, entry);
    } catch (error) {
      // The result is still sent. It is lost only if this process ends before that.
      line.message = `${line.message ?? 'done'}; the data folder can't be written: ${(error as Error).message}`;
    }
    if (finished.artifacts.length > 0 && this.#options.folder.keepsPictures)
      this.#options.pictures?.keep(command.id, finished.artifacts);
    this.#options.onOutcome(line);
    this.#options.onChange();
    return finished;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser[Symbol.asyncDispose]();
  }

  async #carryOut(
    command: ReceivedCommand,
    definition: CommandDefinition | undefined,
    entry: CommandProgress,
    signal: AbortSignal,
  ): Promise<FinishedCommand> {
    const failed = (code: string, message: string): FinishedCommand => ({
      commandId: command.id,
      result: { status: 'failed', error: { code, message: message.slice(0, 4000) } },
      artifacts: [],
    });
    let temporaryFolder: string;
    try {
      temporaryFolder = mkdtempSync(join(this.#options.folder.temporary, 'command-'));
    } catch (error) {
      return failed('audit_unavailable', describeUnwritable(error));
    }
    const artifacts: ResultArtifact[] = [];
    try {
      if (entry.acts && this.#options.journal.hasStarted(command.id)) return failed('outcome_unknown', startedBefore);
      const result = await this.#run(command, definition, entry, {
        signal,
        temporaryFolder,
        attach: (artifact) => artifacts.push(artifact),
      });
      return {
        commandId: command.id,
        result,
        artifacts:
          result.status === 'succeeded' ? storeArtifacts(this.#options.journal.folderOf(command.id), artifacts) : [],
      };
    } catch (error) {
      return failed(
        error instanceof CommandError ? error.code : 'failed',
        `The result could not be stored: ${(error as Error).message}`,
      );
    } finally {
      removeTemporary(temporaryFolder);
    }
  }

  /**
   * Records on the disk that a command starts.
   * @throws CommandError when that fails; the command must not start then.
   */
  #begin(command: ReceivedCommand, entry: CommandProgress): void {
    const { audit, journal } = this.#options;
    try {
      const line = auditFactsOf(command);
      // The entry of the end contains the text. The journal keeps the text, so this holds also after a kill.
      const script = line.script === undefined ? {} : { script: { ...line.script, text: '' } };
      audit.append({ ...line, ...script, phase: 'begun', outcome: 'begun', message: null, durationMs: 0, began: true });
      if (!journal.begin(command.id, { ...entry, line })) throw new CommandError('outcome_unknown', startedBefore);
    } catch (error) {
      throw error instanceof CommandError
        ? error
        : new CommandError('audit_unavailable', describeUnwritable(error), { cause: error });
    }
    entry.beganAt = performance.now();
  }

  async #run(
    command: ReceivedCommand,
    known: CommandDefinition | undefined,
    entry: CommandProgress,
    commandScope: Pick<CommandContext, 'signal' | 'temporaryFolder' | 'attach'>,
  ): Promise<CommandResult> {
    try {
      const { folder, nodeId, prompts } = this.#options;
      const { definition, input, settings } = await admit(command, known, {
        folder,
        nodeId,
        prompts,
        signal: commandScope.signal,
        onAsk: () =>
          this.#options.journal.receive(command.id, { type: command.type, acts: true, line: auditFactsOf(command) }),
        onAnswer: (answer, words) =>
          this.#options.audit.note('owner.answer', `${answerWords[answer]}: ${words}`, recordSettingsHash(folder)),
      });
      const running = this.#running.get(command.id) as Running;
      running.settings ??= settings;
      const timeoutMs = (input as { timeoutMs?: number }).timeoutMs ?? definition.timeoutMs;
      const timedOut = new AbortController();
      // A browser action reports its own time-out in more detail. It is aborted only if it does not end within
      // the grace time.
      const graceMs = definition.gate === 'browser' ? browserGraceMs : 0;
      const timer = setTimeout(
        () => timedOut.abort(new CommandError('timeout', `${command.type} took longer than ${timeoutMs} ms.`)),
        timeoutMs + graceMs,
      );
      try {
        const context: CommandContext = {
          ...commandScope,
          signal: AbortSignal.any([commandScope.signal, timedOut.signal]),
          commandId: command.id,
          nodeId: this.#options.nodeId,
          get settings() {
            return running.settings ?? settings;
          },
          noteOpened: (realPath) => {
            running.realPath = realPath;
          },
          approval: command.approval,
          origin: command.origin,
          readArtifact: (artifactId, maxBytes) =>
            this.#options.readArtifact(command.id, artifactId, { signal: context.signal, maxBytes }),
        };
        context.signal.throwIfAborted();
        this.#begin(command, entry);
        const handler = this.#handlers[command.type as CommandType] as CommandHandler<CommandType>;
        const output = await untilAborted(handler(input as never, context), context.signal);
        const reply = definition.reply.safeParse(output);
        if (!reply.success)
          throw new CommandError(
            'failed',
            `The result of the companion does not have the form that ${command.type} defines: ${reply.error.issues[0]?.message ?? ''}`,
          );
        return { status: 'succeeded', output: reply.data };
      } finally {
        clearTimeout(timer);
      }
    } catch (error) {
      const cause = error instanceof CommandError ? error : new CommandError('failed', (error as Error).message);
      // An error that a handler reports after its abort is a consequence of the abort.
      const failure =
        entry.beganAt !== null && commandScope.signal.aborted && cause.code !== 'timeout'
          ? interruption(entry, commandScope.signal.reason as CommandError, performance.now() - entry.beganAt)
          : cause;
      entry.reason = failure.reason;
      return {
        status: 'failed',
        error: { code: failure.code, message: toStorableText(failure.message).slice(0, 4000) || 'It failed.' },
      };
    }
  }
}
