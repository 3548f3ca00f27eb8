import type { z } from 'zod';

/**
 * A node command is declared once. The hub makes a skill of it and parses its input before sending and the device's reply on
 * return; the companion parses the input again and applies its own policy.
 */

/** What must be switched on, at the hub and on the device, before the command may run. */
export type CommandGate = 'none' | 'system' | 'browser';

export interface CommandDefinition<
  Type extends string = string,
  Input extends z.ZodObject = z.ZodObject,
  Output extends z.ZodType = z.ZodType,
  Reply extends z.ZodType = z.ZodType,
> {
  type: Type;
  title: string;
  summary: string;
  gate: CommandGate;
  /** Whether it changes something on the device. One that acts is never handed out twice. */
  acts: boolean;
  /** Whether a person must approve each single use, at the hub, before it is sent. */
  needsApproval: boolean;
  /** How long it may run on the device when its input names no `timeoutMs`, in milliseconds. */
  timeoutMs: number;
  /** How long the owner of the device may take to answer when they are asked before it begins, in milliseconds; besides its own time. */
  promptMs: number;
  input: Input;
  /** Further input fields that the hub acts on itself. They are never sent to a device, so older companions accept the command. */
  hubInput: z.ZodRawShape;
  /** What a workflow sees. */
  output: Output;
  /** What the device sends; like `output`, but an artefact is named (`artifact`) where the output has its id (`artifactId`). */
  reply: Reply;
}

/** Declares a command whose reply holds no artefact: what the device sends is what a workflow sees. */
export function defineCommand<const Type extends string, Input extends z.ZodObject, Output extends z.ZodType>(
  definition: Omit<CommandDefinition<Type, Input, Output>, 'reply' | 'needsApproval' | 'promptMs' | 'hubInput'> & {
    needsApproval?: boolean;
    promptMs?: number;
    hubInput?: z.ZodRawShape;
  },
): CommandDefinition<Type, Input, Output, Output> {
  return { needsApproval: false, promptMs: 0, hubInput: {}, ...definition, reply: definition.output };
}

/** Declares a command that may return an artefact: `reply` names it, `output` has its id. */
export function defineArtifactCommand<
  const Type extends string,
  Input extends z.ZodObject,
  Output extends z.ZodType,
  Reply extends z.ZodType,
>(
  definition: Omit<CommandDefinition<Type, Input, Output, Reply>, 'needsApproval' | 'promptMs' | 'hubInput'>,
): CommandDefinition<Type, Input, Output, Reply> {
  return { needsApproval: false, promptMs: 0, hubInput: {}, ...definition };
}

/** The input of a command without the fields that only the hub acts on. */
export function deviceInput<Input extends object>(command: Pick<CommandDefinition, 'hubInput'>, input: Input): Input {
  const kept = Object.entries(input).filter(([name]) => !Object.hasOwn(command.hubInput, name));
  return Object.fromEntries(kept) as Input;
}

/** Shortest `timeoutMs` that commands take. */
const minTimeoutMs = 100;

/** The input of a command with a `timeoutMs` that is not above a limit; unchanged for commands that take none. */
export function limitTimeout<Input extends object>(
  command: Pick<CommandDefinition, 'input' | 'timeoutMs'>,
  input: Input,
  limitMs: number,
): Input {
  if (!Object.hasOwn(command.input.shape, 'timeoutMs')) return input;
  const ownMs = (input as { timeoutMs?: number }).timeoutMs ?? command.timeoutMs;
  return ownMs <= limitMs ? input : { ...input, timeoutMs: Math.max(minTimeoutMs, Math.floor(limitMs)) };
}

/** How long a device may have a command with this input, in milliseconds: its own time and that of its owner to answer. */
export function deviceTimeMs(command: CommandDefinition, input: object): number {
  return ((input as { timeoutMs?: number }).timeoutMs ?? command.timeoutMs) + command.promptMs;
}
