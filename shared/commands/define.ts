import type { z } from 'zod';

/**
 * Each node command is declared once. The hub offers it as a skill, parses the input before it sends the command, and
 * parses the reply of the device. The companion parses the input again and applies its own policy.
 */

/** The switch that must be on, at the hub and on the device, before the command can run. */
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
  /** Whether the command has side effects on the device. Such a command is never leased twice. */
  acts: boolean;
  /** Whether each use requires an approval at the hub before the command is sent. */
  needsApproval: boolean;
  /** Timeout on the device when the input has no `timeoutMs`, in milliseconds. */
  timeoutMs: number;
  /**
   * Time for the owner of the device to answer a prompt before the command starts, in milliseconds. Added to the
   * timeout.
   */
  promptMs: number;
  input: Input;
  /** Input fields for the hub only. They are not sent to devices, so that older companions accept the command. */
  hubInput: z.ZodRawShape;
  /** Output of the skill in workflows. */
  output: Output;
  /**
   * Reply of the device. Like `output`, but with the name of an artifact (`artifact`) instead of its id (`artifactId`).
   */
  reply: Reply;
}

/** Declares a command without artifacts: the reply of the device is the output. */
export function defineCommand<const Type extends string, Input extends z.ZodObject, Output extends z.ZodType>(
  definition: Omit<CommandDefinition<Type, Input, Output>, 'reply' | 'needsApproval' | 'promptMs' | 'hubInput'> & {
    needsApproval?: boolean;
    promptMs?: number;
    hubInput?: z.ZodRawShape;
  },
): CommandDefinition<Type, Input, Output, Output> {
  return { needsApproval: false, promptMs: 0, hubInput: {}, ...definition, reply: definition.output };
}

/** Declares a command that can return artifacts: `reply` has their names, `output` their ids. */
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

/** The input of a command without the fields for the hub. */
export function deviceInput<Input extends object>(command: Pick<CommandDefinition, 'hubInput'>, input: Input): Input {
  const kept = Object.entries(input).filter(([name]) => !Object.hasOwn(command.hubInput, name));
  return Object.fromEntries(kept) as Input;
}

/** Minimum `timeoutMs` of commands. */
const minTimeoutMs = 100;

/** Limits the `timeoutMs` of an input. The input of a command without `timeoutMs` does not change. */
export function limitTimeout<Input extends object>(
  command: Pick<CommandDefinition, 'input' | 'timeoutMs'>,
  input: Input,
  limitMs: number,
): Input {
  if (!Object.hasOwn(command.input.shape, 'timeoutMs')) return input;
  const ownMs = (input as { timeoutMs?: number }).timeoutMs ?? command.timeoutMs;
  return ownMs <= limitMs ? input : { ...input, timeoutMs: Math.max(minTimeoutMs, Math.floor(limitMs)) };
}

/** Maximum time of a command on the device, in milliseconds: its timeout plus the time for the owner to answer. */
export function deviceTimeMs(command: CommandDefinition, input: object): number {
  return ((input as { timeoutMs?: number }).timeoutMs ?? command.timeoutMs) + command.promptMs;
}
