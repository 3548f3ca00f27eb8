import { z } from 'zod';
import type { CommandDefinition } from '../../shared/commands/define.ts';
import type { SkillEffect } from '../../shared/contract/automations/skills.ts';
import type { Entitlement } from '../../shared/contract/define.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import type { Transaction } from '../platform/db/database.ts';

/**
 * The effect of a skill outside of the run. It decides what happens after a crash during the call:
 * - `pure`: no effect, or only rows of the hub in the transaction of the step. The skill runs again.
 * - `keyed`: the remote service accepts an idempotency key. The skill runs again with the same key, as in a retry of the step.
 * - `once`: neither of the two. The step fails with `outcome_unknown`, and a user must decide.
 */
export type EffectKind = 'pure' | 'keyed' | 'once';

/** Context of a call of a skill, in addition to its input. */
export interface SkillContext {
  tenantId: string;
  workflowId: string;
  runId: string;
  stepIndex: number;
  /** 1 for the first attempt of the step. */
  attempt: number;
  /** Number of runs in the chain of runs that led to this one. 0 for a run that no other run started. */
  depth: number;
  /** The session of the channel message that started the run. Null if no message started it. */
  sessionId: string | null;
  environment: 'live' | 'test';
  /**
   * The same for all attempts of a step in one run, and for all executions of one tool call of an agent, also after a crash.
   * Remote services and rows of the hub that must be written once detect repetitions by it.
   */
  idempotencyKey: string;
  /** Aborts on time-out of the step, cancellation, shutdown, and when the worker loses the lease of the run. */
  signal: AbortSignal;
}

/** Inserts the rows of one kind that steps produce. Rows of several steps and runs of one workspace are inserted together. */
export interface RowSink<Row> {
  /** Inserts rows in the transaction that records their steps. Sends all statements before it waits for a result. */
  insert(tx: Transaction, rows: readonly Row[]): Promise<void>;
}

/** A row that a step produces, with its sink. */
export interface SinkRow {
  readonly sink: RowSink<unknown>;
  readonly row: unknown;
}

/** Pairs a row with its sink. */
export const sunk = <Row>(sink: RowSink<Row>, row: Row): SinkRow => ({ sink: sink as RowSink<unknown>, row });

export interface SkillOutcome {
  output: JsonValue;
  /** The value of `{{last.outputText}}`. Defaults to the JSON of `output`. */
  outputText?: string;
  /** Rows of the hub that belong to the step. They are written exactly once, in the transaction that records the result. */
  rows?: readonly SinkRow[];
  /** Other writes to the database, in the same transaction. The step then needs a transaction of its own, which costs more. */
  persist?: (tx: Transaction) => Promise<void>;
}

interface SkillBase<Input extends z.ZodObject> {
  id: string;
  title: string;
  summary: string;
  /** Entitlements that the workspace must have. */
  requires: readonly Entitlement[];
  input: Input;
  /** Schema of the output. Outputs are checked against it in development and tests only. */
  output: z.ZodType;
}

/** Context of a read-only skill, in addition to its input. */
export type ReadContext = Pick<SkillContext, 'tenantId' | 'signal'>;

/** The read operation of a read-only skill. It reads only rows of its workspace, waits for no remote service, and sends its input nowhere. */
export interface ReadOperation {
  /** Input fields that select the owner or kind of the data. A model in a conversation with visitors cannot set them. */
  scope: readonly string[];
  read(input: Record<string, unknown>, context: ReadContext): Promise<SkillOutcome>;
}

/** A skill that the worker executes. */
export interface DirectSkill<Input extends z.ZodObject = z.ZodObject, Found = unknown> extends SkillBase<Input> {
  kind: 'direct';
  effect: EffectKind;
  /** Set for read-only skills. A call of any other skill that a conversation with a visitor leads to needs an approval. */
  reading?: ReadOperation;
  /** Whether the skill waits for a remote service. Other runs use the worker slot during the call. */
  waitsForThirdParty?: boolean;
  /** Retry policy for steps without their own. Without it, such a step is not retried. */
  retry?: { maxAttempts: number; backoffSeconds: number; factor: number };
  /**
   * Reads what `execute` needs, without side effects. It runs before the intent of an effect is written, and is repeated
   * during an outage of the database. An error in it never leaves an unknown outcome.
   */
  lookUp?(input: z.output<Input>, context: SkillContext): Promise<Found>;
  /** @param found result of `lookUp`. */
  execute(input: z.output<Input>, context: SkillContext, found: Found): Promise<SkillOutcome>;
}

/** A skill that a companion node executes. The run waits for it without a worker. */
export interface NodeSkill extends SkillBase<z.ZodObject> {
  kind: 'node';
  command: CommandDefinition;
}

/** A skill that starts another run and waits for its end without a worker. */
export interface SpawnSkill extends SkillBase<z.ZodObject> {
  kind: 'spawn';
}

export type Skill = DirectSkill | NodeSkill | SpawnSkill;

/** The type of the effect of a skill. */
export function effectTypeOf(skill: Skill): SkillEffect {
  if (skill.kind === 'spawn') return 'starts_run';
  if (skill.kind === 'node') return skill.command.acts ? 'changes_node' : 'reads_node';
  if (skill.reading !== undefined) return 'reads_workspace';
  const types = { pure: 'changes_workspace', keyed: 'reaches_out_safely', once: 'reaches_out_once' } as const;
  return types[skill.effect];
}

const effects: Record<SkillEffect, string> = {
  starts_run: 'starts another workflow and waits for it',
  changes_node: 'changes something on a companion node',
  reads_node: 'reads from a companion node',
  reads_workspace: 'only reads what this workspace keeps',
  changes_workspace: 'changes nothing outside this workspace',
  reaches_out_safely: 'reaches out, with a key that makes a repetition harmless',
  reaches_out_once: 'reaches out, once',
};

/** Describes the effect of a skill, for users. */
export const describeEffect = (skill: Skill): string => effects[effectTypeOf(skill)];

/** Retry policy for outgoing messages. If a mail server or provider requests a longer delay, that delay applies. */
export const outgoingRetry = { maxAttempts: 4, backoffSeconds: 2, factor: 4 };

/**
 * Adds aliases to fields of a skill's input, for callers that use former names. Exactly one name of each field must be set.
 * JSON Schemas (documents, tool lists, forms) contain the primary names only.
 * @param aliases the field of each alias.
 */
export function withAliases(input: z.ZodObject, aliases: Readonly<Record<string, string>>): z.ZodObject {
  const { $schema: _dialect, ...shown } = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' });
  const shape = { ...input.shape };
  for (const [alias, field] of Object.entries(aliases)) {
    const type = input.shape[field];
    if (type === undefined) throw new Error(`the alias ${alias} stands for no field of the input: ${field}`);
    shape[alias] = shape[field] = (type as z.ZodType).optional();
  }
  let named: z.ZodObject = z.strictObject(shape);
  for (const [alias, field] of Object.entries(aliases)) {
    const isSet = (value: unknown, name: string) => (value as Record<string, unknown> | null)?.[name] !== undefined;
    named = named
      // `when`: a missing field is reported when a workflow is saved, even if other fields are invalid or contain templates.
      .refine((value) => isSet(value, field) || isSet(value, alias), {
        path: [field],
        message: 'is required',
        when: ({ value }) => typeof value === 'object' && value !== null,
      })
      .refine((value) => !(isSet(value, field) && isSet(value, alias)), {
        path: [alias],
        message: `is another name of ${field}; send one of the two`,
        when: ({ value }) => typeof value === 'object' && value !== null,
      });
  }
  return named.meta(shown);
}

/** Defines a skill. Validation, documents and tool lists are derived from this definition. */
export function defineSkill<Input extends z.ZodObject, Found = undefined>(
  skill: Omit<DirectSkill<Input, Found>, 'kind'>,
): DirectSkill {
  return { ...skill, kind: 'direct' } as unknown as DirectSkill;
}

/** Defines a read-only skill. The AI agent can call it during a chat, outside of a run. */
export function defineReadingSkill<Input extends z.ZodObject>({
  scope,
  read,
  ...facts
}: SkillBase<Input> & {
  scope: readonly (keyof z.output<Input> & string)[];
  read(input: z.output<Input>, context: ReadContext): Promise<SkillOutcome>;
}): DirectSkill {
  return {
    ...defineSkill({ ...facts, effect: 'pure', execute: read }),
    reading: { scope, read: read as ReadOperation['read'] },
  };
}

/** Look-up of skills by id. */
export interface SkillCatalog {
  find(skillId: string): Skill | undefined;
  list(): readonly Skill[];
}

/** Input of a node skill: the fields for the hub, and the command for the device. */
export interface NodeSkillInput {
  nodeId: string;
  waitMs: number;
  command: JsonObject;
}

/** Splits the parsed input of a node skill. */
export function splitNodeInput(input: Record<string, unknown>): NodeSkillInput {
  const { nodeId, waitMs, ...command } = input as { nodeId: string; waitMs: number } & JsonObject;
  return { nodeId, waitMs, command };
}
