import type { CommandDefinition } from '../../shared/commands/define.ts';
import type { CommandOrigin } from '../../shared/commands/origin.ts';
import type { Agent, ToolProfile } from '../../shared/contract/automations/agents.ts';
import type { ApprovalDecider } from '../../shared/contract/automations/approvals.ts';
import type { Policy } from '../../shared/contract/automations/policies.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import type { NodeSelection } from '../../shared/node-selection.ts';
import type { Transaction } from '../platform/db/database.ts';
import type { InferenceAnswer, InferenceRequest } from '../platform/inference/inference.ts';

/** What the engine needs of products: it knows none of them, and whoever puts the hub together gives it theirs. */

export interface NewApproval {
  tenantId: string;
  runId: string;
  stepIndex: number;
  attempt: number;
  kind: 'step' | 'system.run';
  title: string;
  message: string;
  request: JsonObject;
  /** SHA-256, in hex, of what the approval binds. */
  requestHash: string;
  onTimeout: 'reject' | 'approve';
  expiresInSeconds: number | undefined;
  /** Which call of an agent's tools it belongs to; 0 for the step itself. */
  call: number;
  /** Email addresses of those who alone may decide; those of the policy when empty. */
  approvers: string[];
  required: number;
  escalateAfterSeconds: number | undefined;
  escalateTo: string[];
}

export interface Approval {
  id: string;
  kind: NewApproval['kind'];
  title: string;
  status: 'pending' | 'approved' | 'rejected' | 'expired';
  request: JsonObject;
  requestHash: string;
  approvers: string[];
  /** Whether the policy named the approvers. */
  usesDefaultApprovers: boolean;
  required: number;
  decidedBy: string | null;
  decider: ApprovalDecider | null;
  decidedAt: Date | null;
  note: string | null;
}

export interface ApprovalPort {
  /** Writes the approval that a step waits for, once for each try of each call of the step; answers its id. */
  create(tx: Transaction, approval: NewApproval): Promise<string>;
  /** The approval of one try of a step, or of one call in it, if it was asked for. */
  find(tx: Transaction, runId: string, stepIndex: number, attempt: number, call: number): Promise<Approval | null>;
  /** An approval that a run got for exactly this request at an earlier try of the same call. */
  findApproved(
    tx: Transaction,
    runId: string,
    stepIndex: number,
    call: number,
    requestHash: string,
  ): Promise<Approval | null>;
}

/** A command for a node, as a step sends it. */
export interface CommandRequest {
  /** Its id, unless this try of the call sent one before. */
  id: string;
  tenantId: string;
  nodeId: string;
  runId: string;
  stepIndex: number;
  attempt: number;
  /** Which call of an agent's tools it is; 0 for the step itself. */
  call: number;
  command: CommandDefinition;
  input: JsonObject;
  /** How long it may wait for the device. */
  waitMs: number;
  /** When the step's own time is over; null without a limit. The node must have ended the command by then, or later by the time of the owner's prompt. */
  deadlineInSeconds: number | null;
  approval: { id: string; requestHash: string; approvedBy: string; approvedAt: string } | null;
  /** What only the step knows of the command's origin; its run says the rest. */
  origin: {
    step: { index: number; name: string | null };
    approvedBy: CommandOrigin['approvedBy'] | null;
    reason: string | null;
  };
}

export interface CommandOutcome {
  status: 'pending' | 'leased' | 'succeeded' | 'failed' | 'withdrawn';
  output: JsonValue | null;
  /** Length of an output that was left out, as JSON, in bytes; null or missing otherwise. */
  omittedBytes?: number | null;
  error: { code: string; message: string } | null;
  type: string;
  nodeId: string;
  createdAt: Date;
  handedOutAt: Date | null;
  finishedAt: Date | null;
}

export interface SelectionRequest {
  tenantId: string;
  /** A run keeps the node that it got by a tag; null outside a run. */
  runId: string | null;
  command: CommandDefinition;
  selection: NodeSelection;
}

export interface NodePort {
  /** The id of the node that an input selects. @throws AppError `not_found` that lists the existing names or tags. */
  select(tx: Transaction, request: SelectionRequest): Promise<string>;
  /** @throws AppError when the node cannot be sent this command. */
  assertUsable(tx: Transaction, tenantId: string, nodeId: string, command: CommandDefinition): Promise<void>;
  /**
   * Writes a command, which the commit delivers, unless this attempt of the call wrote one before. Returns its id.
   * @throws AppError when the node cannot be sent it.
   */
  dispatch(tx: Transaction, request: CommandRequest): Promise<string>;
  /**
   * Writes a command without waiting for the result of any statement. The transaction fails with an error for
   * `isAssertionFailed` when the node cannot be sent it or this attempt of the call wrote one before.
   */
  dispatchPipelined(tx: Transaction, request: CommandRequest): Promise<void>;
  /**
   * Makes a command pending again that was leased for a waiting poll but not delivered to it. The commit wakes the polls
   * of the node.
   */
  takeBack(tx: Transaction, nodeId: string, commandId: string): Promise<void>;
  /** How a command stands. An output of more than `maxOutputBytes` as JSON is left out. */
  readOutcome(tenantId: string, commandId: string, maxOutputBytes: number): Promise<CommandOutcome | null>;
  /**
   * The newest command of this type that a step sent in this or an earlier attempt of its flow, that reached its node, and that ended without success after it
   * began or may have begun; null without one.
   */
  findEarlier(
    tx: Transaction,
    step: { runId: string; stepIndex: number; type: string },
  ): Promise<{ code: string; handedOutAt: Date } | null>;
  /** What a person would read of a node's answer. */
  textOf(output: JsonValue): string;
}

export interface ModelRequest extends Omit<InferenceRequest, 'signal'> {
  tenantId: string;
  /** Id of a model of the workspace that is tried first. */
  preferredModel?: string | null | undefined;
  signal: AbortSignal;
}

/** One model that was asked for an answer, and what came of it. */
export interface ModelAttempt {
  /** Its id among the models of the workspace; null for the hub's own. */
  modelId: string | null;
  /** As its provider names it. */
  model: string;
  ms: number;
  /** A stable word: `answered`, `breaker_open`, `http_429`, `connect_refused`, `stalled_before_first_part` and the like. */
  outcome: string;
  /** What the provider said about the key, the account or the model, without secrets; left out where it said nothing. */
  detail?: string;
}

export interface ModelAnswer extends InferenceAnswer {
  /** The model that answered, as its provider names it. */
  model: string;
  latencyMs: number;
  /** Who last changed the models of the workspace that were called; none for the hub's own. */
  authors?: readonly string[];
  /** In their order, the one that answered last. */
  attempts: ModelAttempt[];
}

/** A conversation that an agent step reads and adds to. */
export interface Conversation {
  id: string;
  /** A test run reads a live conversation, but does not write to it. */
  environment: 'live' | 'test';
  memorySummary: string;
  summarisedThrough: string | null;
}

export interface ConversationMessage {
  id: string;
  role: 'user' | 'assistant' | 'system';
  content: string;
  runId: string | null;
}

export interface ConversationPort {
  find(tx: Transaction, tenantId: string, id: string): Promise<Conversation | null>;
  /**
   * The newest messages that the summary does not cover, oldest first: without system messages and without those of one run, and of at most
   * `maxCharacters` together.
   */
  readNewest(
    tx: Transaction,
    conversation: Conversation,
    bounds: { exceptRunId: string; maxCharacters: number },
  ): Promise<ConversationMessage[]>;
  /** The oldest messages that the summary does not cover, oldest first: 500 at most, and the first `maxCharacters` of each. */
  readOldest(
    tx: Transaction,
    conversation: Conversation,
    bounds: { maxCharacters: number },
  ): Promise<ConversationMessage[]>;
  append(tx: Transaction, tenantId: string, id: string, message: Omit<ConversationMessage, 'id'>): Promise<void>;
  /** Replaces the summary by one that covers the messages through `throughId`; nothing when another run was faster. */
  writeSummary(tx: Transaction, conversation: Conversation, summary: string, throughId: string): Promise<void>;
}

export interface AgentPort {
  findAgent(tx: Transaction, tenantId: string, id: string): Promise<Agent | null>;
  /** Who last changed an agent, a tool profile and the standing orders: their prompts and tools, field by field. */
  readAuthors(
    tx: Transaction,
    tenantId: string,
    agentId: string | null,
    toolProfileId: string | null,
  ): Promise<string[]>;
  findToolProfile(tx: Transaction, tenantId: string, id: string): Promise<ToolProfile | null>;
  /** Asks a model. @throws AppError. */
  generate(request: ModelRequest): Promise<ModelAnswer>;
  conversations: ConversationPort;
}

/** A run that another one leads to: its step waits for it, or its failure is what it is about. */
export interface ChildRequest {
  tenantId: string;
  workflowId: string;
  trigger: { type: string } & JsonObject;
  /** The run whose step waits for it. */
  parentRunId?: string;
  depth: number;
  context: string | null;
  payload: JsonObject | null;
  environment: 'live' | 'test';
  /** Users and keys that started the run that leads to it. */
  requestedBy: readonly string[];
  /** Those who wrote what that run did. */
  authoredBy: readonly string[];
}

/** What a hub gives its engine. */
export interface EnginePorts {
  approvals: ApprovalPort;
  nodes: NodePort;
  agents: AgentPort;
  /** The policy of a workspace; the defaults when none was set. */
  readPolicy(tx: Transaction, tenantId: string): Promise<Policy>;
  /** Starts a run that another one leads to, in the transaction that lets that one wait or end. @throws AppError when it can't be started. */
  startChild: (tx: Transaction, request: ChildRequest) => Promise<{ runId: string }>;
}
