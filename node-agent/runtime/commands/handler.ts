import type { CommandInput, CommandReply, CommandType } from '../../../shared/commands/catalog.ts';
import type { CommandOrigin } from '../../../shared/commands/origin.ts';
import type { LocalSettings } from '../../../shared/companion/settings.ts';
import type { EndReason } from '../../../shared/companion/state.ts';
import type { CommandApproval } from '../../../shared/contract/nodes/device.ts';

/** A file or bytes that are sent to the hub with the result. The reply refers to them by name. */
export interface ResultArtifact {
  name: string;
  contentType: string;
  /** The bytes, or a file in the `temporaryFolder` of the command. At most 256 MiB. */
  content: Buffer | { filePath: string };
}

/** A file that was read from the hub. */
export interface HubFile {
  name: string;
  contentType: string;
  content: Buffer;
}

/** Arguments of a handler besides the input of the command. */
export interface CommandContext {
  commandId: string;
  nodeId: string;
  /** Aborts on withdrawal, time-out, pause and shutdown. The reason is a `CommandError` whose code names the cause. */
  signal: AbortSignal;
  /** The current settings of the owner. They can change while the command runs. */
  readonly settings: LocalSettings;
  /** Set for commands that need an approval. */
  approval: CommandApproval | undefined;
  /** The run of the command; undefined for hubs of earlier versions, which do not send it. */
  origin: CommandOrigin | undefined;
  /** An empty folder for this command only. Removed when the command ends, or at the next start after a kill. */
  temporaryFolder: string;
  /** Notes the real path of a file or folder that was opened, so that the command and its result end when the owner unshares it. */
  noteOpened(realPath: string): void;
  /** Adds an artifact to the result. */
  attach(artifact: ResultArtifact): void;
  /**
   * Reads an artifact from the hub. The artifact must belong to the run of the command.
   * @throws CommandError `not_found`, `too_large` above `maxBytes`, `hub_unreachable`.
   */
  readArtifact(artifactId: string, maxBytes: number): Promise<HubFile>;
}

export type CommandHandler<Type extends CommandType> = (
  input: CommandInput<Type>,
  context: CommandContext,
) => Promise<CommandReply<Type>>;

/** One handler per command of this build. A missing handler is a type error. */
export type CommandHandlers = { [Type in CommandType]: CommandHandler<Type> };

/** The failure of a command. The hub and the owner's audit log show the code and the message. */
export class CommandError extends Error {
  readonly code: string;
  /** A more precise reason for the owner, where several reasons share one code. */
  readonly reason: EndReason | null;

  constructor(code: string, message: string, { reason, ...options }: ErrorOptions & { reason?: EndReason } = {}) {
    super(message, options);
    this.name = 'CommandError';
    this.code = code;
    this.reason = reason ?? null;
  }
}

/** The progress of a command: when it began, and why it ended early. */
export interface CommandProgress {
  type: string;
  acts: boolean;
  /** Start time by `performance.now()`; null if the command did not begin. */
  beganAt: number | null;
  reason: EndReason | null;
}

/**
 * The failure of a command that the owner, the hub or a stop of the companion ended after the command began. The
 * message says that the command had begun, so that a command that acts is not retried as if it had never begun.
 */
export function interruption(
  { type, acts }: Pick<CommandProgress, 'type' | 'acts'>,
  cause: CommandError,
  ranMs: number,
): CommandError {
  const isWithdrawnByHub = cause.code === 'withdrawn' && cause.reason === null;
  const advice = acts ? '; look at the machine before you retry' : '';
  return new CommandError(
    isWithdrawnByHub ? 'withdrawn' : 'interrupted',
    `${cause.message.replace(/\.?$/, '.')} ${type} had begun and was ended after ${(ranMs / 1000).toFixed(1)} s${advice}.`,
    {
      cause,
      ...(isWithdrawnByHub
        ? {}
        : { reason: cause.reason ?? (cause.code === 'paused' ? 'owner_paused' : 'owner_denied') }),
    },
  );
}
