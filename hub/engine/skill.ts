import { z } from 'zod';
import type { CommandDefinition } from '../../shared/commands/define.ts';
import type { SkillEffect } from '../../shared/contract/automations/skills.ts';
import type { Entitlement } from '../../shared/contract/define.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import type { Transaction } from '../platform/db/database.ts';

/**
 * What a skill does to the world, which decides what happens after a crash in the middle of it:
 * `pure` nothing, or only rows of ours in the step's own transaction: it is run again;
 * `keyed` the other side honours an idempotency key: it is run again with the same key, as in any retry of the step;
 * `once` neither: the step fails as `outcome_unknown`, for a person to settle.
 */
export type EffectKind = 'pure' | 'keyed' | 'once';

/** What a skill gets beside its input. */
export interface SkillContext {
  tenantId: string;
  workflowId: string;
  runId: string;
  stepIndex: number;
  /** 1 for the first try of the step. */
  attempt: number;
  /** How many runs, each started by the one before, led to this one. */
  depth: number;
  /** The session that the run belongs to, if a message of a channel started it. */
  sessionId: string | null;
  environment: 'live' | 'test';
  /**
   * The same for every try of a step in one run, and for every execution of one tool call of an agent, also after a crash. Other systems
   * recognize a repetition by it, and so do rows of ours that must be written once.
   */
  idempotencyKey: string;
  /** Aborts on the step's time-out, on cancel, on shutdown and when the worker lost the run. */
  signal: AbortSignal;
}

/** Where the rows of one kind go that steps leave behind; of many steps, of many runs of one workspace, they are written together. */
export interface RowSink<Row> {
  /** Writes rows in the transaction that records the steps which left them; sends all before it waits for anything. */
  insert(tx: Transaction, rows: readonly Row[]): Promise<void>;
}

/** A row that a step leaves behind, with where it goes. */
export interface SunkRow {
  readonly sink: RowSink<unknown>;
  readonly row: unknown;
}

/** A row for a sink. */
export const sunk = <Row>(sink: RowSink<Row>, row: Row): SunkRow => ({ sink: sink as RowSink<unknown>, row });

export interface SkillOutcome {
  output: JsonValue;
  /** What `{{last.outputText}}` renders; the JSON of `output` when left out. */
  outputText?: string;
  /** Rows of ours that belong to the step: written in the transaction that records its result, so exactly once. */
  rows?: readonly SunkRow[];
  /** Writes of ours that are more than rows, in the same transaction; such a step is written by itself, and costs more. */
  persist?: (tx: Transaction) => Promise<void>;
}

interface SkillFacts<Input extends z.ZodObject> {
  id: string;
  title: string;
  summary: string;
  /** What the workspace must be entitled to. */
  requires: readonly Entitlement[];
  input: Input;
  /** What its output is; what it really puts out is checked against this in development and tests. */
  output: z.ZodType;
}

/** What a skill that only reads gets beside its input. */
export type ReadContext = Pick<SkillContext, 'tenantId' | 'signal'>;

/** What makes a skill one that only reads: rows of its workspace, at once, and nothing of what it gets goes anywhere. */
export interface Reading {
  /** Fields of its input that say whose or what data it reads: a model that talks with strangers never sets them. */
  scope: readonly string[];
  read(input: Record<string, unknown>, context: ReadContext): Promise<SkillOutcome>;
}

/** A skill that the worker itself carries out. */
export interface DirectSkill<Input extends z.ZodObject = z.ZodObject, Found = unknown> extends SkillFacts<Input> {
  kind: 'direct';
  effect: EffectKind;
  /** Of one that only reads. Deny by default: any other needs a person's word where a stranger's words lead to it. */
  reading?: Reading;
  /** Whether it spends its time waiting for an answer from elsewhere, so that a worker can do something else meanwhile. */
  waitsForThirdParty?: boolean;
  /** How a step that says nothing of its own retries it; not at all when left out. */
  retry?: { maxAttempts: number; backoffSeconds: number; factor: number };
  /**
   * Looks up what `execute` needs, without leaving a trace anywhere: it comes before the intent of an effect is written, and is repeated while the
   * database is out of reach. Whatever ends it leaves nothing in doubt.
   */
  lookUp?(input: z.output<Input>, context: SkillContext): Promise<Found>;
  /** @param found what `lookUp` answered. */
  execute(input: z.output<Input>, context: SkillContext, found: Found): Promise<SkillOutcome>;
}

/** A skill that a companion node carries out; the run waits for it without a worker. */
export interface NodeSkill extends SkillFacts<z.ZodObject> {
  kind: 'node';
  command: CommandDefinition;
}

/** A skill that starts another run and waits for its end without a worker. */
export interface SpawnSkill extends SkillFacts<z.ZodObject> {
  kind: 'spawn';
}

export type Skill = DirectSkill | NodeSkill | SpawnSkill;

/** What a skill does to the world. */
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

/** What a skill does to the world, for people. */
export const describeEffect = (skill: Skill): string => effects[effectTypeOf(skill)];

/** How messages to the outside are retried. When a mail server or provider asks for a pause, its own delay wins over this. */
export const outgoingRetry = { maxAttempts: 4, backoffSeconds: 2, factor: 4 };

/**
 * Gives fields of a skill's input further names, for callers that use the earlier ones. Exactly one name of each field must be set.
 * JSON Schemas (documents, tool lists, forms) show the primary names only.
 * @param aliases the field that each further name stands for.
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
      // Also where other fields are wrong or still templates, so that a missing field is named when a workflow is saved.
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

/** Declares a skill; everything that is said of it elsewhere (validation, documents, tools) comes from here. */
export function defineSkill<Input extends z.ZodObject, Found = undefined>(
  skill: Omit<DirectSkill<Input, Found>, 'kind'>,
): DirectSkill {
  return { ...skill, kind: 'direct' } as unknown as DirectSkill;
}

/** Declares a skill that only reads, so that it may be called in the midst of a chat, outside of any run. */
export function defineReadingSkill<Input extends z.ZodObject>({
  scope,
  read,
  ...facts
}: SkillFacts<Input> & {
  scope: readonly (keyof z.output<Input> & string)[];
  read(input: z.output<Input>, context: ReadContext): Promise<SkillOutcome>;
}): DirectSkill {
  return {
    ...defineSkill({ ...facts, effect: 'pure', execute: read }),
    reading: { scope, read: read as Reading['read'] },
  };
}

/** Looks skills up by id. */
export interface SkillCatalog {
  find(skillId: string): Skill | undefined;
  list(): readonly Skill[];
}

/** Input of a node skill, split into what the hub needs and what the device gets. */
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
