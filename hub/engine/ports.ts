import type { CommandDefinition } from '../../shared/commands/define.ts';
import type { CommandOrigin } from '../../shared/commands/origin.ts';
import type { Agent, ToolProfile } from '../../shared/contract/automations/agents.ts';
import type { ApprovalDecider } from '../../shared/contract/automations/approvals.ts';
import type { Policy } from '../../shared/contract/automations/policies.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import type { NodeSelection } from '../../shared/node-selection.ts';
import type { Transaction } from '../platform/db/database.ts';
import type { InferenceAnswer, InferenceRequest } from '../platform/inference/inference.ts';

/** Interfaces that the engine needs and products implement. The engine imports no product; `hub/app.ts` connects them. */

export interface NewApproval {
  tenantId: string;
  runId: string;
  stepIndex: number;
  attempt: number;
  kind: 'step' | 'system.run';
  title: string;
  message: string;
  request: JsonObject;
  /** SHA-256 of the content that the approval is bound to, in hex. */
  requestHash: string;
  onTimeout: 'reject' | 'approve';
  expiresInSeconds: number | undefined;
  /** Number of the tool call in an agent step. 0 for the step itself. */
  call: number;
  /** Email addresses of the only users who can decide. If empty, the default approvers of the policy. */
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
  /** Whether the approvers are the defaults of the policy. */
  usesDefaultApprovers: boolean;
  required: number;
  decidedBy: string | null;
  decider: ApprovalDecider | null;
  decidedAt: Date | null;
  note: string | null;
}

export interface ApprovalPort {
  /** Inserts the approval that a step waits for, once per attempt and call of the step. Returns its id. */
  create(tx: Transaction, approval: NewApproval): Promise<string>;
  /** The approval of one attempt of a step, or of one call in it. Null if none was requested. */
  find(tx: Transaction, runId: string, stepIndex: number, attempt: number, call: number): Promise<Approval | null>;
  /** An approval for exactly this request in any attempt of the same call of the run. */
  findApproved(
    tx: Transaction,
    runId: string,
    stepIndex: number,
    call: number,
    requestHash: string,
  ): Promise<Approval | null>;
}

/** A command that a step sends to a node. */
export interface CommandRequest {
  /** Id of the command, unless this attempt of the call sent a command before. */
  id: string;
  tenantId: string;
  nodeId: string;
  runId: string;
  stepIndex: number;
  attempt: number;
  /** Number of the tool call in an agent step. 0 for the step itself. */
  call: number;
  command: CommandDefinition;
  input: JsonObject;
  /** How long the command waits for the device, in milliseconds. */
  waitMs: number;
  /** Time until the step times out, in seconds. Null for no limit. The time for the owner to answer a prompt is added to it. */
  deadlineInSeconds: number | null;
  approval: { id: string; requestHash: string; approvedBy: string; approvedAt: string } | null;
  /** The part of the origin of the command that the run does not contain. */
  origin: {
    step: { index: number; name: string | null };
    approvedBy: CommandOrigin['approvedBy'] | null;
    reason: string | null;
  };
}

export interface CommandOutcome {
  status: 'pending' | 'leased' | 'succeeded' | 'failed' | 'withdrawn';
  output: JsonValue | null;
  /** Length of an output that was omitted, as JSON, in bytes. Null or missing if no output was omitted. */
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
  /** The run that selects the node. A run keeps the node that was selected by tag. Null outside a run. */
  runId: string | null;
  command: CommandDefinition;
  selection: NodeSelection;
}

export interface NodePort {
  /** The id of the node that an input selects. @throws AppError `not_found` that lists the existing names or tags. */
  select(tx: Transaction, request: SelectionRequest): Promise<string>;
  /** @throws AppError if the command cannot be sent to the node. */
  assertUsable(tx: Transaction, tenantId: string, nodeId: string, command: CommandDefinition): Promise<void>;
  /**
   * Inserts a command, unless this attempt of the call inserted one before. The commit delivers the command. Returns its id.
   * @throws AppError if the command cannot be sent to the node.
   */
  dispatch(tx: Transaction, request: CommandRequest): Promise<string>;
  /**
   * Inserts a command without waiting for the result of any statement. The transaction fails with an error for
   * `isAssertionFailed` in two cases: the command cannot be sent to the node, or this attempt of the call inserted one before.
   */
  dispatchPipelined(tx: Transaction, request: CommandRequest): Promise<void>;
  /**
   * Returns a command to the state `pending` if it was leased for a waiting poll but not delivered. The commit wakes the
   * polls of the node.
   */
  takeBack(tx: Transaction, nodeId: string, commandId: string): Promise<void>;
  /** The state and result of a command. An output of more than `maxOutputBytes`, as JSON, is omitted. */
  readOutcome(tenantId: string, commandId: string, maxOutputBytes: number): Promise<CommandOutcome | null>;
  /**
   * Finds the newest unsuccessful command of a step and type, over all attempts of its flow, that could have started on its
   * node. Null if there is none.
   */
  findEarlier(
    tx: Transaction,
    step: { runId: string; stepIndex: number; type: string },
  ): Promise<{ code: string; handedOutAt: Date } | null>;
  /** The text of a command output, for users. */
  textOf(output: JsonValue): string;
}

export interface ModelRequest extends Omit<InferenceRequest, 'signal'> {
  tenantId: string;
  /** Id of the model of the workspace that is called first. */
  preferredModel?: string | null | undefined;
  signal: AbortSignal;
}

/** One call of a model for an answer, and its outcome. */
export interface ModelAttempt {
  /** Id of the model in the workspace. Null for the model of the hub. */
  modelId: string | null;
  /** Name of the model at its provider. */
  model: string;
  ms: number;
  /** A stable code: `answered`, `breaker_open`, `http_429`, `connect_refused`, or `stalled_before_first_part`, for example. */
  outcome: string;
  /** Message of the provider about the key, the account or the model, without secrets. Missing if there is none. */
  detail?: string;
}

export interface ModelAnswer extends InferenceAnswer {
  /** The model that answered, by its name at the provider. */
  model: string;
  latencyMs: number;
  /** Users and API keys that last changed the called models of the workspace. Empty for the model of the hub. */
  authors?: readonly string[];
  /** The calls in their order. The last one returned the answer. */
  attempts: ModelAttempt[];
}

/** A conversation that an agent step reads and extends. */
export interface Conversation {
  id: string;
  /** A test run can read a live conversation, but does not write to it. */
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
   * The newest messages that the summary does not cover, oldest first, with at most `maxCharacters` in total. System messages
   * and the messages of the run `exceptRunId` are excluded.
   */
  readNewest(
    tx: Transaction,
    conversation: Conversation,
    bounds: { exceptRunId: string; maxCharacters: number },
  ): Promise<ConversationMessage[]>;
  /** The oldest messages that the summary does not cover, oldest first: at most 500, each with its first `maxCharacters`. */
  readOldest(
    tx: Transaction,
    conversation: Conversation,
    bounds: { maxCharacters: number },
  ): Promise<ConversationMessage[]>;
  append(tx: Transaction, tenantId: string, id: string, message: Omit<ConversationMessage, 'id'>): Promise<void>;
  /** Replaces the summary by one that covers the messages through `throughId`. Does nothing if another run has replaced it since. */
  writeSummary(tx: Transaction, conversation: Conversation, summary: string, throughId: string): Promise<void>;
}

export interface AgentPort {
  findAgent(tx: Transaction, tenantId: string, id: string): Promise<Agent | null>;
  /** The users and API keys that last changed the fields of an agent and a tool profile, and the standing orders. */
  readAuthors(
    tx: Transaction,
    tenantId: string,
    agentId: string | null,
    toolProfileId: string | null,
  ): Promise<string[]>;
  findToolProfile(tx: Transaction, tenantId: string, id: string): Promise<ToolProfile | null>;
  /** Calls a model. @throws AppError. */
  generate(request: ModelRequest): Promise<ModelAnswer>;
  conversations: ConversationPort;
}

/** A run that another run starts: a step waits for it, or it is the error workflow of a failed run. */
export interface ChildRequest {
  tenantId: string;
  workflowId: string;
  trigger: { type: string } & JsonObject;
  /** The run whose step waits for the new run. */
  parentRunId?: string;
  depth: number;
  context: string | null;
  payload: JsonObject | null;
  environment: 'live' | 'test';
  /** Users and API keys that started the other run. */
  requestedBy: readonly string[];
  /** Authors of the other run. */
  authoredBy: readonly string[];
}

/** Implementations that the hub passes to its engine. */
export interface EnginePorts {
  approvals: ApprovalPort;
  nodes: NodePort;
  agents: AgentPort;
  /** The policy of a workspace, or the defaults if none is set. */
  readPolicy(tx: Transaction, tenantId: string): Promise<Policy>;
  /** Starts a run in the transaction in which another run ends or starts to wait. @throws AppError if the run cannot be started. */
  startChild: (tx: Transaction, request: ChildRequest) => Promise<{ runId: string }>;
}
