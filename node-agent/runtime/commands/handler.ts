import type { CommandInput, CommandReply, CommandType } from '../../../shared/commands/catalog.ts';
import type { CommandOrigin } from '../../../shared/commands/origin.ts';
import type { LocalSettings } from '../../../shared/companion/settings.ts';
import type { EndReason } from '../../../shared/companion/state.ts';
import type { CommandApproval } from '../../../shared/contract/nodes/device.ts';

/** A file or bytes that go to the hub with the result, under a name that the reply refers to. */
export interface ResultArtifact {
  name: string;
  contentType: string;
  /** The bytes, or a file under the command's `temporaryFolder`; either way at most 256 MiB. */
  content: Buffer | { filePath: string };
}

/** A file that the hub holds. */
export interface HubFile {
  name: string;
  contentType: string;
  content: Buffer;
}

/** What a handler gets beside its input. */
export interface CommandContext {
  commandId: string;
  nodeId: string;
  /** Aborts on withdrawal, time-out, pause and shutdown; its reason is a `CommandError` that says which. */
  signal: AbortSignal;
  /** The owner's settings as they are now: they can change while the command runs. */
  readonly settings: LocalSettings;
  /** Present for commands that need an approval. */
  approval: CommandApproval | undefined;
  /** Which run the command belongs to; an earlier hub does not send it. */
  origin: CommandOrigin | undefined;
  /** An empty folder of this command's own; removed when the command ends, and at the next start after a kill. */
  temporaryFolder: string;
  /** Notes the real path of a file or folder that was opened, so that the command and its result end when the owner unshares it. */
  noteOpened(realPath: string): void;
  /** Adds an artefact to the result. */
  attach(artifact: ResultArtifact): void;
  /**
   * Reads an artefact of the command's run from the hub.
   * @throws CommandError `not_found`, `too_large` above `maxBytes`, `hub_unreachable`.
   */
  readArtifact(artifactId: string, maxBytes: number): Promise<HubFile>;
}

export type CommandHandler<Type extends CommandType> = (
  input: CommandInput<Type>,
  context: CommandContext,
) => Promise<CommandReply<Type>>;

/** A handler for each command that this build knows: leaving one out is a type error. */
export type CommandHandlers = { [Type in CommandType]: CommandHandler<Type> };

/** A command that did not succeed, with the code and the text that the hub and the owner's audit log will show. */
export class CommandError extends Error {
  readonly code: string;
  /** What the code does not tell its owner. */
  readonly reason: EndReason | null;

  constructor(code: string, message: string, { reason, ...options }: ErrorOptions & { reason?: EndReason } = {}) {
    super(message, options);
    this.name = 'CommandError';
    this.code = code;
    this.reason = reason ?? null;
  }
}

/** How far a command came, and why no further. */
export interface Begun {
  type: string;
  acts: boolean;
  /** When it began, by `performance.now()`; null for a command that did not begin. */
  beganAt: number | null;
  reason: EndReason | null;
}

/**
 * The failure of a command that was ended after it began: by its owner, by the hub or with the companion. The cause alone reads like the refusal of a
 * command that never began, and a command that acts must not be repeated as if it was one.
 */
export function interruption(
  { type, acts }: Pick<Begun, 'type' | 'acts'>,
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
