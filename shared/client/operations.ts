// Generated from the contract by npm run openapi. Do not edit.

export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue;
}

/** A response that is not JSON; read it with `open`. */
export interface Bytes {
  readonly bytes: unique symbol;
}

export interface AcceptInvitation {
  /** The `code` in the address of the link */
  code: string;
  /** Password of the new account, with at least 12 characters */
  password: string;
  /** Name that visitors and colleagues see instead of your email address; null removes it */
  displayName?: string | null;
}

export interface Agent {
  /** Id of the AI agent */
  id: string;
  /** Display name, at most 200 characters */
  name: string;
  /** Instructions for the model, at most 50,000 characters */
  systemPrompt: string;
  /** Tool profile with the skills that the agent may call; null for none */
  toolProfileId: string | null;
  /** Keys that route inbound messages to this agent, at most 50 */
  routeKeys: string[];
  /** Id of a model of the workspace; null for the failover order */
  model: string | null;
  /** Version, from 1; each change increases it */
  version: number;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
}

export interface AgentConversationFrame {
  /** A conversation changed or is new */
  type: 'conversation';
  conversation: InboxConversation;
}

export interface AgentEvent {
  /** An AI agent changed */
  type: 'agent';
  /** Time of the event */
  at: string;
  /** Who changed it, as in the audit log: `user:<id>`, `token:<id>` or another actor, such as `platform` */
  by: string;
  /** Id of the agent */
  id: string;
  /** Kind of the change */
  change: 'created' | 'updated' | 'deleted';
}

export type AgentFrame = AgentMessageFrame | AgentConversationFrame | AgentRemovedFrame | AgentTypingFrame | AgentReadFrame | AgentPresenceFrame | AgentSuggestionFrame | AgentViewersFrame | AgentSyncFrame | ChatErrorFrame;

export interface AgentMessageFrame {
  /** A message or a private note was written */
  type: 'message';
  message: InboxMessage;
}

export interface AgentPage {
  /** Rows of this page, at most `meta.limit` */
  data: Agent[];
  meta: PageMeta;
}

export interface AgentPresenceFrame {
  /** The presence of a member changed */
  type: 'presence';
  /** Member whose presence changed */
  userId: string;
  /** `offline`: no live connection for 30 seconds */
  presence: 'online' | 'away' | 'offline';
}

export interface AgentReadFrame {
  /** Messages were read */
  type: 'read';
  /** Conversation of the messages */
  conversationId: string;
  /** Side that has read */
  who: 'visitor' | 'agent';
  /** `seq` up to which that side has read */
  seq: number;
}

export interface AgentRemovedFrame {
  /** A conversation was erased */
  type: 'removed';
  /** Conversation that was erased */
  conversationId: string;
}

export interface AgentStep {
  /** Runs an AI agent with a prompt */
  type: 'agent';
  /** AI agent whose system prompt, model and tools are used; defaults when omitted */
  agentId?: string;
  /** Task for the agent, at most 50,000 characters; may contain templates */
  prompt: string;
  /** Tool profile with the allowed skills; the agent's own when omitted; without either, no skills are allowed */
  toolProfileId?: string;
  /** Maximum number of model calls, 1 to 50 */
  maxTurns: number;
  /** Maximum number of tokens, input and output together */
  maxTokens?: number;
  /** Session whose transcript the agent continues; that of the inbound message when omitted */
  sessionId?: string;
  /** Id of the step; later steps refer to it as `{{steps.<id>.output}}` */
  id?: string;
  /** Display name, at most 200 characters */
  name?: string;
  /** Template; the step is skipped unless it renders to a truthy value */
  when?: string;
  /** Whether the run continues when the step fails after all attempts; default false */
  continueOnError?: boolean;
  /** Retry policy; the policy of the skill when omitted */
  retry?: {
    /** Attempts in total, 1 to 10 */
    maxAttempts: number;
    /** Seconds before the second attempt */
    backoffSeconds: number;
    /** Multiplier of each further wait */
    factor: number;
  };
  /** Seconds to wait before the step starts; the wait occupies no worker */
  delaySeconds?: number;
  /** Timeout of each attempt, in seconds */
  timeoutSeconds?: number;
}

export interface AgentStepInput {
  /** Runs an AI agent with a prompt */
  type: 'agent';
  /** AI agent whose system prompt, model and tools are used; defaults when omitted */
  agentId?: string;
  /** Task for the agent, at most 50,000 characters; may contain templates */
  prompt: string;
  /** Tool profile with the allowed skills; the agent's own when omitted; without either, no skills are allowed */
  toolProfileId?: string;
  /** Maximum number of model calls, 1 to 50 */
  maxTurns?: number;
  /** Maximum number of tokens, input and output together */
  maxTokens?: number;
  /** Session whose transcript the agent continues; that of the inbound message when omitted */
  sessionId?: string;
  /** Id of the step; later steps refer to it as `{{steps.<id>.output}}` */
  id?: string;
  /** Display name, at most 200 characters */
  name?: string;
  /** Template; the step is skipped unless it renders to a truthy value */
  when?: string;
  /** Whether the run continues when the step fails after all attempts; default false */
  continueOnError?: boolean;
  /** Retry policy; the policy of the skill when omitted */
  retry?: {
    /** Attempts in total, 1 to 10 */
    maxAttempts: number;
    /** Seconds before the second attempt */
    backoffSeconds?: number;
    /** Multiplier of each further wait */
    factor?: number;
  };
  /** Seconds to wait before the step starts; the wait occupies no worker */
  delaySeconds?: number;
  /** Timeout of each attempt, in seconds */
  timeoutSeconds?: number;
}

/** The AI agent suggests a reply; get it from the list of suggestions */
export interface AgentSuggestionFrame {
  /** The AI agent suggests a reply */
  type: 'suggestion';
  /** Conversation that the suggestion is for */
  conversationId: string;
  /** Id of the suggestion */
  id: string;
}

/** Sent every 15 seconds: the conversations that changed in the last 45 seconds */
export interface AgentSyncFrame {
  /** Regular list of changes, so that the client notices missed frames */
  type: 'sync';
  /** ISO 8601, UTC, with milliseconds */
  at: string;
  /** Conversations that changed in the last 45 seconds */
  changed: {
    /** Id of the conversation */
    id: string;
    /** `position` of the newest message or note */
    lastPosition: number;
    /** Status of the conversation */
    status: string;
    /** ISO 8601, UTC, with milliseconds */
    updatedAt: string;
  }[];
  /** False if more conversations changed than are listed: reload the lists */
  complete: boolean;
}

export interface AgentTurn {
  /** First 2,000 characters of the answer of the model */
  text: string;
  /** Length of the whole answer in characters */
  textLength: number;
  /** Model that answered, as its provider names it */
  model: string;
  /** Time until the answer was complete, in milliseconds */
  latencyMs: number;
  /** Time of the answer; null for a turn of an earlier release */
  answeredAt: string | null;
  /** Tokens of this turn */
  usage: {
    /** Tokens of the request */
    inputTokens: number;
    /** Tokens of the answer */
    outputTokens: number;
  };
  /** Skills that the model called in this turn, in order */
  calls: {
    /** Skill that the model called; it may not exist */
    skillId: string;
    /** `pending` until the skill has ended */
    status: 'pending' | 'succeeded' | 'failed';
    /** Why the call failed; null unless it failed */
    error: {
      /** Stable code, for programs */
      code: string;
      /** Human-readable message, at most 500 characters */
      message: string;
    } | null;
  }[];
  /** What was wrong with the answer, as the model was told */
  problems: string[];
  /** Whether the answer ends the step */
  isFinal: boolean;
}

export interface AgentTypingFrame {
  /** A participant started or stopped typing */
  type: 'typing';
  /** Conversation of the participant */
  conversationId: string;
  /** `visitor`, `agent` for a member, or `ai` for the AI agent */
  who: 'visitor' | 'agent' | 'ai';
  /** Member who types; null for others */
  userId: string | null;
  /** False when typing stopped */
  typing: boolean;
}

export interface AgentViewersFrame {
  /** Members started or stopped viewing a conversation */
  type: 'viewers';
  /** Conversation that is viewed */
  conversationId: string;
  /** Members who view it now */
  userIds: string[];
}

export interface AiBudget {
  /** Input and output tokens per UTC day; null for no limit */
  dailyTokens: number | null;
  /** Cost per UTC day of models with prices in this currency; null for no limit */
  dailyCost: {
    /** Currency code of ISO 4217, such as `USD` */
    currency: string;
    /** Amount in millionths of the currency */
    micros: number;
  } | null;
  /** Seconds of transcribed audio per UTC day: the lower limit of workspace and hub */
  dailySpeechSeconds: number;
  /** Characters of synthesized speech per UTC day: the lower limit of workspace and hub */
  dailySpeechCharacters: number;
  /** Usage of today */
  used: {
    /** Today, UTC */
    day: string;
    /** Input and output tokens so far today */
    tokens: number;
    /** Costs by currency */
    costs: {
      /** Currency code of ISO 4217, such as `USD` */
      currency: string;
      /** Cost in millionths of the currency */
      micros: number;
    }[];
    /** Used share of the limit that is closest to exhaustion, 1 for all; null without limits */
    share: number | null;
    /** Seconds of transcribed audio */
    speechSeconds: number;
    /** Characters of synthesized speech */
    speechCharacters: number;
  };
  /** Whether calls are refused until `resetsAt` */
  isUsedUp: boolean;
  /** Models that `dailyCost` does not limit: without prices, with price 0, or in another currency */
  modelsWithoutCostLimit: string[];
  /** ISO 8601, UTC, with milliseconds */
  resetsAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string | null;
}

export interface AiRun {
  /** Id of the AI run */
  id: string;
  /** `failed`: no model answered; see `error` */
  status: 'succeeded' | 'failed';
  /** Answer as Markdown without images and HTML. It contains only URLs that are in the knowledge, the terms or the input. Null when the run failed */
  outputText: string | null;
  /** Input as it was sent */
  input: string;
  /** Context as it was sent; null without one */
  context: string | null;
  /** Metadata as it was sent; empty without any */
  metadata: JsonObject;
  /** Kind of the answer; always `text` */
  mode: 'text';
  /** Requested language of the answer (BCP 47); null when none was requested */
  locale: string | null;
  /** Environment of the key; runs of test keys call the same models */
  environment: 'live' | 'test';
  /** Model that answered; null when none did */
  model: string | null;
  /** Calls of models, in order */
  attempts: {
    /** Id of a model of the workspace; null for the hub's own model */
    modelId?: string | null;
    /** Name of the model at the provider */
    model: string;
    /** Duration of the call in milliseconds */
    ms: number;
    /** Outcome of the call, such as `answered`, `timeout` or `http_429` */
    outcome: string;
    /** Error of the provider about the key, the account or the model, without secrets */
    detail?: string;
  }[];
  /** Tokens of all calls of this run */
  usage: {
    /** Tokens that were sent to models */
    inputTokens: number;
    /** Tokens that models wrote */
    outputTokens: number;
  };
  /** Time from the request to the answer, in milliseconds */
  latencyMs: number;
  /** Whether a part of the prompt was omitted, or the answer was cut at 1,024 tokens */
  truncated: boolean;
  /** Description of the omitted part; null without one */
  truncation: string | null;
  /** Ids of the knowledge entries in the prompt */
  sources: string[];
  /** Why the run failed; null when it succeeded */
  error: {
    /** Stable code, for programs */
    code: string;
    /** Human-readable message: what went wrong and what to do */
    message: string;
  } | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
}

export interface AiRunPage {
  /** Rows of this page, at most `meta.limit` */
  data: AiRun[];
  meta: PageMeta;
}

export interface AiSuggestion {
  /** Id of the suggestion */
  id: string;
  /** Conversation of the suggestion */
  conversationId: string;
  /** Suggested reply; empty if the AI agent would hand over or not reply */
  content: string;
  /** Action that the AI agent would take: reply, ask back, hand over to a person, or do nothing */
  action: 'answer' | 'clarify' | 'handoff' | 'ignore';
  /** Reason, as the model wrote it */
  reason: string;
  /** Knowledge entries that the text is based on */
  sources: ChatMessageSource[];
  /** Tools that were called, in order; only read-only tools are offered */
  tools: ChatAiToolUse[];
  /** `seq` of the newest message that the suggestion considers */
  seq: number;
  /** `asked`: requested by an agent; `shadow`: created automatically */
  origin: 'asked' | 'shadow';
  /** ISO 8601, UTC, with milliseconds */
  acceptedAt: string | null;
  /** Member who accepted it; null if it was not accepted */
  acceptedBy: string | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
}

export interface AiSuggestionPage {
  /** Rows of this page, at most `meta.limit` */
  data: AiSuggestion[];
  meta: PageMeta;
}

export interface AiUsage {
  /** First day of the report, UTC */
  from: string;
  /** Last day of the report, UTC; included */
  to: string;
  /** Usage by day, newest first, and model; days without calls are omitted */
  data: {
    /** Day in UTC, `YYYY-MM-DD` */
    day: string;
    /** Id of a model of the workspace; null for the hub's own model */
    modelId: string | null;
    /** Name of the model at the provider */
    model: string;
    /** Number of model calls; each attempt counts */
    calls: number;
    /** Number of calls without an answer */
    failedCalls: number;
    /** Number of calls with estimated tokens, because they were cancelled or the provider reports no tokens */
    estimatedCalls: number;
    /** Tokens that were sent to models */
    inputTokens: number;
    /** Tokens that models wrote */
    outputTokens: number;
    /** Cost; null if no prices were set */
    cost: {
      /** Currency code of ISO 4217, such as `USD` */
      currency: string;
      /** Cost in millionths of the currency */
      micros: number;
    } | null;
  }[];
  /** Speech usage by day, newest first */
  speech: {
    /** Day in UTC, `YYYY-MM-DD` */
    day: string;
    /** Seconds of transcribed audio */
    seconds: number;
    /** Characters of synthesized speech */
    characters: number;
  }[];
  /** Totals of the report */
  totals: {
    /** Number of model calls; each attempt counts */
    calls: number;
    /** Number of calls without an answer */
    failedCalls: number;
    /** Number of calls with estimated tokens, because they were cancelled or the provider reports no tokens */
    estimatedCalls: number;
    /** Tokens that were sent to models */
    inputTokens: number;
    /** Tokens that models wrote */
    outputTokens: number;
    /** Costs by currency */
    costs: {
      /** Currency code of ISO 4217, such as `USD` */
      currency: string;
      /** Cost in millionths of the currency */
      micros: number;
    }[];
  };
}

export interface AllowedOrigins {
  /** Origins whose pages may call this workspace from a browser, at most 50 */
  origins: string[];
}

export interface AllowedOriginsInput {
  /** Origins whose pages may call this workspace from a browser, at most 50 */
  origins: string[];
}

export interface ApiToken {
  /** Id of the key */
  id: string;
  /** Display name, at most 200 characters */
  name: string;
  /** Product whose API the key can call */
  product: 'chat' | 'ai' | 'automations' | 'voice';
  /** Live Chat: `test` keys see and change only test visitors and conversations. Automations: `test` keys share the data of the workspace. Their runs are test runs, whose mails, channel messages and webhooks are recorded as simulated and not sent. They cannot change live workflows, live runs and their approvals, or what live runs use (sequences, agents, tool profiles, channels, nodes, models, the policy, live sessions, installed packs). Node commands and model calls are real in both environments */
  environment: 'live' | 'test';
  /** Permissions of the key */
  permissions: ('chat:write' | 'chat:read' | 'visitors:read' | 'webhooks:manage' | 'ai:invoke' | 'ai:speak' | 'ai:voice' | 'knowledge:manage' | 'usage:read' | 'automations:manage' | 'automations:read' | 'automations:run' | 'approvals:decide' | 'voice:read' | 'voice:export' | 'connections:manage')[];
  /** Visible part of the key, without its secret */
  keyHint: string;
  /** CIDR blocks or addresses from which the key is accepted; any address when empty */
  ipAllowlist: string[];
  /** ISO 8601, UTC, with milliseconds */
  expiresAt: string | null;
  /** ISO 8601, UTC, with milliseconds */
  lastUsedAt: string | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
}

export interface ApiTokenPage {
  /** Rows of this page, at most `meta.limit` */
  data: ApiToken[];
  meta: PageMeta;
}

export interface Approval {
  /** Id of the approval */
  id: string;
  /** Run that waits for the decision */
  runId: string;
  /** Index of the step that waits, from 0 */
  stepIndex: number;
  /** `system.run` for a command on a node, `step` for everything else */
  kind: 'step' | 'system.run';
  /** Question for the approver */
  title: string;
  /** Details for the approver; may be empty */
  message: string;
  /** Parts of `message`, for clients that show them in other words; absent if the workflow has the text */
  hubMessage?: ApprovalHubMessage;
  /** What is to be approved; for `system.run` the node, argv, cwd, env, stdin and timeout */
  request: JsonValue;
  /** SHA-256 of the request. Only the approved request runs; a changed one needs a new approval */
  requestHash: string;
  /** `pending` until it is decided or expires */
  status: 'pending' | 'approved' | 'rejected' | 'expired';
  /** Email addresses of those who may decide; empty when every caller with the permission may decide */
  approvers: string[];
  /** Number of approvers who must approve */
  required: number;
  /** Decisions of the approvers, oldest first */
  votes: {
    /** Email address of the approver */
    approver: string;
    /** Who decided for the approver; null for decisions from before this was recorded */
    decider: ApprovalDecider | null;
    /** Decision of this approver */
    decision: 'approved' | 'rejected';
    /** Reason that the approver gave; null without one */
    note: string | null;
    /** ISO 8601, UTC, with milliseconds */
    at: string;
  }[];
  /** ISO 8601, UTC, with milliseconds */
  expiresAt: string | null;
  /** Actor as in the audit log, such as `user:<id>`; null while pending */
  decidedBy: string | null;
  /** Who or what decided; null while pending */
  decider: ApprovalDecider | null;
  /** ISO 8601, UTC, with milliseconds */
  decidedAt: string | null;
  /** Reason of the final decision; null without one */
  note: string | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
}

export interface ApprovalDecider {
  /** How the decision was made; `mail_link` is a decision of the recipient of the link */
  kind: 'user' | 'key' | 'mail_link' | 'time_out' | 'run_end';
  /** Id of the user or API key, or the address that the link was mailed to */
  id: string | null;
  /** Email address of the user or name of the API key at that time */
  name: string;
  /** Address of the admin who created the link, and could have used it; absent for a mailed link */
  linkCreatedBy?: string;
}

export interface ApprovalDetail {
  /** Id of the approval */
  id: string;
  /** Run that waits for the decision */
  runId: string;
  /** Index of the step that waits, from 0 */
  stepIndex: number;
  /** `system.run` for a command on a node, `step` for everything else */
  kind: 'step' | 'system.run';
  /** Question for the approver */
  title: string;
  /** Details for the approver; may be empty */
  message: string;
  /** Parts of `message`, for clients that show them in other words; absent if the workflow has the text */
  hubMessage?: ApprovalHubMessage;
  /** What is to be approved; for `system.run` the node, argv, cwd, env, stdin and timeout */
  request: JsonValue;
  /** SHA-256 of the request. Only the approved request runs; a changed one needs a new approval */
  requestHash: string;
  /** `pending` until it is decided or expires */
  status: 'pending' | 'approved' | 'rejected' | 'expired';
  /** Email addresses of those who may decide; empty when every caller with the permission may decide */
  approvers: string[];
  /** Number of approvers who must approve */
  required: number;
  /** Decisions of the approvers, oldest first */
  votes: {
    /** Email address of the approver */
    approver: string;
    /** Who decided for the approver; null for decisions from before this was recorded */
    decider: ApprovalDecider | null;
    /** Decision of this approver */
    decision: 'approved' | 'rejected';
    /** Reason that the approver gave; null without one */
    note: string | null;
    /** ISO 8601, UTC, with milliseconds */
    at: string;
  }[];
  /** ISO 8601, UTC, with milliseconds */
  expiresAt: string | null;
  /** Actor as in the audit log, such as `user:<id>`; null while pending */
  decidedBy: string | null;
  /** Who or what decided; null while pending */
  decider: ApprovalDecider | null;
  /** ISO 8601, UTC, with milliseconds */
  decidedAt: string | null;
  /** Reason of the final decision; null without one */
  note: string | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** Workflow of the run */
  workflowId: string;
  /** Current name of the workflow */
  workflowName: string;
  /** Environment of the run */
  environment: 'live' | 'test';
  /** Type of the trigger of the run, such as `manual` or `schedule` */
  triggerType: string;
  /** Users and API keys that started the run or a run that led to it; empty for an automatic trigger */
  requestedBy: ApprovalRequester[];
  /** Node that the request names; null for a request without a node */
  nodeId: string | null;
  /** Name of this node; null without a node, and after it was deleted */
  nodeName: string | null;
  /** From this time the addresses of the escalation can decide too; null without an escalation */
  escalateAt: string | null;
  /** Whether the caller can decide this approval now */
  canDecide: boolean;
  /** Why the caller cannot decide; null when `canDecide` is true */
  refusal: ApprovalRefusal | null;
}

export interface ApprovalEarlierTry {
  /** Type of the command that the earlier try sent */
  commandType: string;
  /** When the node received the command */
  sentAt: string;
  /** Error code with which the command ended */
  code: string;
}

export interface ApprovalEvent {
  /** An approval was requested or decided */
  type: 'approval';
  /** Time of the event */
  at: string;
  /** Id of the approval */
  id: string;
  /** Run that waits for the decision */
  runId: string;
  /** Index of the step that waits, from 0 */
  stepIndex: number;
  /** `system.run` for a command on a node, `step` for everything else */
  kind: 'step' | 'system.run';
  /** Status of the approval after the change */
  status: 'pending' | 'approved' | 'rejected' | 'expired';
}

export interface ApprovalHubMessage {
  /** Why the hub asks: `program` for a program on a node, `policy` for a skill that needs an approval in this workspace, `changed` for a step that would do something else than the approval before it showed */
  reason: 'program' | 'policy' | 'changed';
  /** Earlier try of the step, whose command may have had an effect already; null without one */
  earlierTry: ApprovalEarlierTry | null;
}

export interface ApprovalPage {
  /** Rows of this page, at most `meta.limit` */
  data: Approval[];
  meta: PageMeta;
}

export interface ApprovalRefusal {
  /** Error code that a decision would get */
  code: string;
  /** Why the caller cannot decide, and who can */
  message: string;
}

export interface ApprovalRequester {
  /** `user` for a member, `key` for an API key */
  kind: 'user' | 'key';
  /** Id of the user or API key */
  id: string;
  /** Email address of the user or name of the API key; null after it was removed */
  name: string | null;
}

export interface ApprovalStep {
  /** Waits until a person approves */
  type: 'approval';
  /** Question for the approver, at most 200 characters; may contain templates */
  title: string;
  /** Details for the approver, at most 10,000 characters; may contain templates */
  message: string;
  /** Seconds until the approval expires; no expiry when omitted */
  expiresInSeconds?: number;
  /** Decision when the approval expires */
  onTimeout: 'reject' | 'approve';
  /** Email addresses of the approvers, who decide with their own link or signed in; when omitted, every caller with the permission may decide */
  approvers?: JsonValue[];
  /** Number of approvers who must approve; a single rejection rejects */
  required: number;
  /** Seconds after which the approvers in `escalateTo` may also decide */
  escalateAfterSeconds?: number;
  /** Email addresses of further approvers, 1 to 50, from `escalateAfterSeconds` on */
  escalateTo?: JsonValue[];
  /** Id of the step; later steps refer to it as `{{steps.<id>.output}}` */
  id?: string;
  /** Display name, at most 200 characters */
  name?: string;
  /** Template; the step is skipped unless it renders to a truthy value */
  when?: string;
  /** Whether the run continues when the step fails after all attempts; default false */
  continueOnError?: boolean;
  /** Retry policy; the policy of the skill when omitted */
  retry?: {
    /** Attempts in total, 1 to 10 */
    maxAttempts: number;
    /** Seconds before the second attempt */
    backoffSeconds: number;
    /** Multiplier of each further wait */
    factor: number;
  };
  /** Seconds to wait before the step starts; the wait occupies no worker */
  delaySeconds?: number;
  /** Without effect, and refused when steps are saved; set expiresInSeconds */
  timeoutSeconds?: number;
}

export interface ApprovalStepInput {
  /** Waits until a person approves */
  type: 'approval';
  /** Question for the approver, at most 200 characters; may contain templates */
  title: string;
  /** Details for the approver, at most 10,000 characters; may contain templates */
  message?: string;
  /** Seconds until the approval expires; no expiry when omitted */
  expiresInSeconds?: number;
  /** Decision when the approval expires */
  onTimeout?: 'reject' | 'approve';
  /** Email addresses of the approvers, who decide with their own link or signed in; when omitted, every caller with the permission may decide */
  approvers?: string[];
  /** Number of approvers who must approve; a single rejection rejects */
  required?: number;
  /** Seconds after which the approvers in `escalateTo` may also decide */
  escalateAfterSeconds?: number;
  /** Email addresses of further approvers, 1 to 50, from `escalateAfterSeconds` on */
  escalateTo?: string[];
  /** Id of the step; later steps refer to it as `{{steps.<id>.output}}` */
  id?: string;
  /** Display name, at most 200 characters */
  name?: string;
  /** Template; the step is skipped unless it renders to a truthy value */
  when?: string;
  /** Whether the run continues when the step fails after all attempts; default false */
  continueOnError?: boolean;
  /** Retry policy; the policy of the skill when omitted */
  retry?: {
    /** Attempts in total, 1 to 10 */
    maxAttempts: number;
    /** Seconds before the second attempt */
    backoffSeconds?: number;
    /** Multiplier of each further wait */
    factor?: number;
  };
  /** Seconds to wait before the step starts; the wait occupies no worker */
  delaySeconds?: number;
  /** Without effect, and refused when steps are saved; set expiresInSeconds */
  timeoutSeconds?: number;
}

export interface ApprovalSummary {
  /** Id of the approval */
  id: string;
  /** Run that waits for the decision */
  runId: string;
  /** Index of the step that waits, from 0 */
  stepIndex: number;
  /** `system.run` for a command on a node, `step` for everything else */
  kind: 'step' | 'system.run';
  /** Question for the approver */
  title: string;
  /** SHA-256 of the request. Only the approved request runs; a changed one needs a new approval */
  requestHash: string;
  /** `pending` until it is decided or expires */
  status: 'pending' | 'approved' | 'rejected' | 'expired';
  /** Email addresses of those who may decide; empty when every caller with the permission may decide */
  approvers: string[];
  /** Number of approvers who must approve */
  required: number;
  /** ISO 8601, UTC, with milliseconds */
  expiresAt: string | null;
  /** Actor as in the audit log, such as `user:<id>`; null while pending */
  decidedBy: string | null;
  /** Who or what decided; null while pending */
  decider: ApprovalDecider | null;
  /** ISO 8601, UTC, with milliseconds */
  decidedAt: string | null;
  /** Reason of the final decision; null without one */
  note: string | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** Number of approvers who approved so far */
  approvedCount: number;
  /** Workflow of the run */
  workflowId: string;
  /** Current name of the workflow */
  workflowName: string;
  /** Environment of the run */
  environment: 'live' | 'test';
  /** Type of the trigger of the run, such as `manual` or `schedule` */
  triggerType: string;
  /** Users and API keys that started the run or a run that led to it; empty for an automatic trigger */
  requestedBy: ApprovalRequester[];
  /** Node that the request names; null for a request without a node */
  nodeId: string | null;
  /** Name of this node; null without a node, and after it was deleted */
  nodeName: string | null;
  /** From this time the addresses of the escalation can decide too; null without an escalation */
  escalateAt: string | null;
  /** Whether the caller can decide this approval now */
  canDecide: boolean;
  /** Why the caller cannot decide; null when `canDecide` is true */
  refusal: ApprovalRefusal | null;
}

export interface ApprovalSummaryPage {
  /** Rows of this page, at most `meta.limit` */
  data: ApprovalSummary[];
  meta: PageMeta;
}

export interface AuditEntry {
  /** Id of the entry */
  id: string;
  /** Actor, such as `user:<id>`, `token:<id>` or `operator` */
  actor: string;
  /** Action, such as `workflow.updated` */
  action: string;
  /** Type of the target, such as `workflow` */
  targetType: string;
  /** Id of the target */
  targetId: string;
  /** Details of the action; the fields depend on `action`. Never contains secrets */
  details: JsonObject;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
}

export interface AuditEntryPage {
  /** Rows of this page, at most `meta.limit` */
  data: AuditEntry[];
  meta: PageMeta;
}

export interface AuditHead {
  /** Number of entries in the log of the device */
  count: number;
  /** SHA-256 of the last entry, as 64 hexadecimal digits */
  hash: string;
}

export interface BulkRunsAnswer {
  /** One entry for each run, in the order of `ids`; with a filter, newest first */
  results: {
    /** Id of the run that was named or selected */
    id: string;
    /** Whether the operation succeeded for this run */
    ok: boolean;
    /** Current run: the new run of a retry, otherwise the run itself */
    runId?: string;
    /** Error code, for programs */
    code?: string;
    /** Human-readable error message */
    message?: string;
  }[];
  /** Whether older runs can match the filter */
  more: boolean;
  /** Send it as `filter.olderThan` to continue, also when `results` is empty; null at the end */
  next: string | null;
}

export interface CallConnection {
  /** Id of the connection */
  id: string;
  /** Carrier that sends the events */
  provider: 'twilio' | 'telnyx' | 'kamailio';
  /** Display name, at most 200 characters */
  name: string;
  /** URL for the events of the carrier, under `PUBLIC_URL` */
  url: string;
  /** Twilio: SID of the account; null for other carriers and when it is not set */
  accountSid: string | null;
  /** Twilio: base URL of the API; null for other carriers and for the default */
  apiBaseUrl: string | null;
  /** When the last event with a valid signature arrived, accurate to a minute */
  lastEventAt: string | null;
  /** Time up to which calls were compared with the carrier's own list */
  reconciledAt: string | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
}

export interface CallConnectionPage {
  /** Rows of this page, at most `meta.limit` */
  data: CallConnection[];
  meta: PageMeta;
}

export interface CallConnectionWithSecret {
  /** Id of the connection */
  id: string;
  /** Carrier that sends the events */
  provider: 'twilio' | 'telnyx' | 'kamailio';
  /** Display name, at most 200 characters */
  name: string;
  /** URL for the events of the carrier, under `PUBLIC_URL` */
  url: string;
  /** Twilio: SID of the account; null for other carriers and when it is not set */
  accountSid: string | null;
  /** Twilio: base URL of the API; null for other carriers and for the default */
  apiBaseUrl: string | null;
  /** When the last event with a valid signature arrived, accurate to a minute */
  lastEventAt: string | null;
  /** Time up to which calls were compared with the carrier's own list */
  reconciledAt: string | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
  /** Kamailio: signing secret, returned only once: 32 bytes as base64url */
  secret?: string;
}

export type CallDirection = 'inbound' | 'outbound';

export interface CallEvent {
  /** A call changed */
  type: 'call';
  /** ISO 8601, UTC, with milliseconds */
  at: string;
  call: CallRecord;
}

export interface CallList {
  /** Calls, newest first */
  items: CallRecord[];
  /** Send it as `cursor` to read the next page; null on the last page */
  nextCursor: string | null;
}

/** A call, as its carrier reported it */
export interface CallRecord {
  /** Id of the record */
  id: string;
  /** Carrier that reported the call, or `sip_trunk` for the trunk of the workspace */
  provider: 'twilio' | 'telnyx' | 'kamailio' | 'sip_trunk';
  /** Id of the call at the carrier; unique for a workspace and carrier */
  callSid: string;
  /** Direction of the call; null until the carrier reports it */
  direction: CallDirection | null;
  /** Caller: a number or a SIP address, as the carrier reported it */
  fromId: string | null;
  /** Callee: a number or a SIP address, as the carrier reported it */
  toId: string | null;
  /** Display name or email address of the member who called from a softphone; null for others */
  fromName: string | null;
  /** Display name or email address of the member who was called; null for others */
  toName: string | null;
  /** Progress of the call; `ended` is final */
  state: 'queued' | 'ringing' | 'in_progress' | 'ended';
  /** `answered`; `missed`: inbound and not answered; `busy`; `failed`; `voicemail`: a machine answered; `cancelled`: outbound and cancelled by the caller. Null until the call ended */
  result: CallResult | null;
  /** Reason as the carrier reported it, or `no_final_event` if the carrier never reported the end */
  reason: string | null;
  /** ISO 8601, UTC, with milliseconds */
  startedAt: string;
  /** ISO 8601, UTC, with milliseconds */
  answeredAt: string | null;
  /** ISO 8601, UTC, with milliseconds */
  endedAt: string | null;
  /** Talk time in seconds; 0 unless answered */
  durationSecs: number;
  /** Seconds from the start until the call was answered or ended; null while it rings */
  ringSecs: number | null;
  /** Side that ended the call; null if not reported */
  hangupBy: 'caller' | 'callee' | null;
  /** Final SIP status; null if not reported */
  sipCode: number | null;
  /** Audio quality (MOS), 1 to 5, the worst of several measurements; null if not measured */
  mosScore: number | null;
}

export interface CallRecordPage {
  /** Rows of this page, at most `meta.limit` */
  data: CallRecord[];
  meta: PageMeta;
}

export type CallResult = 'answered' | 'missed' | 'busy' | 'failed' | 'voicemail' | 'cancelled';

export interface CallSummary {
  /** Minutes of answered calls that started today (UTC), rounded */
  minutesToday: number;
  /** Share of answered calls among ended inbound calls of the last 7 days including today (UTC), 0 to 1; null without any */
  answeredRate7d: number | null;
  /** Calls that started today, including calls in progress */
  callsToday: number;
  /** Ended inbound calls of these 7 days */
  inbound7d: number;
  /** Answered inbound calls of these 7 days */
  answered7d: number;
}

export interface CallsEndEvent {
  /** The stream ends because the caller lost access */
  type: 'end';
  /** Stable reason, such as `token_revoked` */
  code: string;
  /** Human-readable reason */
  message: string;
}

export interface CallsReadyEvent {
  /** The stream is open; later events are sent */
  type: 'ready';
  /** ISO 8601, UTC, with milliseconds */
  at: string;
}

export interface CallsResetEvent {
  /** Events are missing; read the list of calls again */
  type: 'reset';
  /** ISO 8601, UTC, with milliseconds */
  at: string;
  /** Human-readable explanation of why events are missing */
  message: string;
}

export interface Campaign {
  /** Id of the campaign */
  id: string;
  /** Display name, at most 200 characters */
  name: string;
  /** List of the recipients */
  listId: string;
  /** Subject of the mail, at most 500 characters; may contain templates */
  subject: string;
  /** HTML body, at most 500,000 characters; null without one */
  html: string | null;
  /** Plain text body, at most 100,000 characters; null without one */
  text: string | null;
  /** Number of mails by outcome */
  mails: {
    /** Mails that the mail server accepted */
    sent: number;
    /** Mails that test runs simulated. A contact counts once for each test run */
    simulated: number;
    /** Mails that the mail server refused */
    failed: number;
    /** Mails in progress or interrupted. Their outcome is unknown, so they are not sent again */
    unknown: number;
  };
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
}

export interface CampaignPage {
  /** Rows of this page, at most `meta.limit` */
  data: Campaign[];
  meta: PageMeta;
}

export interface CancelRuns {
  /** Runs by id, 1 to 100; give either `ids` or `filter` */
  ids?: string[];
  /** Selects the newest runs that match; give either `ids` or `filter`. It takes the filters of the list of runs. Runs in a status that `status` does not accept are never selected */
  filter?: {
    /** Only runs in this status; in all of these statuses when omitted */
    status?: 'queued' | 'running' | 'waiting_approval';
    /** Only runs in one of these statuses, separated by commas */
    statuses?: string;
    /** Only runs of this workflow */
    workflowId?: string;
    /** Queued at this time or later */
    from?: string;
    /** Queued before this time */
    to?: string;
    /** Only runs that a step of this run started */
    parentRunId?: string;
    /** Only runs whose id starts with these characters, 4 to 36 */
    idPrefix?: string;
    /** Only runs with this type of trigger, such as `manual` or `schedule` */
    triggerType?: string;
    /** Only runs of this environment */
    environment?: 'live' | 'test';
    /** Only runs that sent a command to this node */
    nodeId?: string;
    /** With `true`, only the latest run of each flow: runs that were retried or replayed are left out */
    latest?: 'true' | 'false';
    /** Only failed runs with this error code */
    errorCode?: string;
    /** `next` of the previous response */
    olderThan?: string;
  };
  /** With a filter: maximum number of runs in this request, the newest first */
  limit?: number;
}

export interface CannedReply {
  /** Id of the canned reply */
  id: string;
  /** Unique in the workspace, 1 to 40 characters of a-z, 0-9, `_` and `-` */
  shortcut: string;
  /** Text with variables such as `{{visitor.name|there}}`, at most 10,000 characters */
  content: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
}

export interface CannedReplyPage {
  /** Rows of this page, at most `meta.limit` */
  data: CannedReply[];
  meta: PageMeta;
}

export interface CarrierEventReceived {
  /** Always true: the event was accepted */
  received: true;
}

export interface ChangePassword {
  /** Current password */
  currentPassword: string;
  /** At least 12 characters */
  newPassword: string;
}

export interface Channel {
  /** Id of the channel */
  id: string;
  /** Service that carries the messages */
  provider: 'telegram' | 'slack' | 'whatsapp' | 'webhook' | 'email';
  /** Display name, at most 200 characters */
  name: string;
  /** Configuration without secrets */
  config: JsonObject;
  /** Names of the secrets that are set */
  secretsSet: string[];
  /** Whether the channel accepts and sends messages */
  active: boolean;
  /** Whether inbound messages open Live Chat conversations */
  conversations: boolean;
  /** Path to which the provider sends messages, relative to the URL of the hub */
  inboundPath: string;
  /** Version, from 1; each change increases it */
  version: number;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
}

export interface ChannelEvent {
  /** A channel changed */
  type: 'channel';
  /** Time of the event */
  at: string;
  /** Who changed it, as in the audit log: `user:<id>`, `token:<id>` or another actor, such as `platform` */
  by: string;
  /** Id of the channel */
  id: string;
  /** Kind of the change */
  change: 'created' | 'updated' | 'deleted';
}

export interface ChannelPage {
  /** Rows of this page, at most `meta.limit` */
  data: Channel[];
  meta: PageMeta;
}

export interface ChannelTrigger {
  /** Version of the trigger format; 1 is the only one */
  schemaVersion: 1;
  /** Starts when a message arrives on a channel */
  type: 'channel';
  /** Channels that start the workflow; every channel when omitted */
  channel: {
    /** Only this channel; every channel of the provider when omitted */
    channelId?: string;
    /** Only channels of this provider; every provider when omitted */
    provider?: 'telegram' | 'slack' | 'whatsapp' | 'webhook' | 'email';
  };
}

export interface ChannelTriggerInput {
  /** Version of the trigger format; 1 is the only one */
  schemaVersion?: 1;
  /** Starts when a message arrives on a channel */
  type: 'channel';
  /** Channels that start the workflow; every channel when omitted */
  channel?: {
    /** Only this channel; every channel of the provider when omitted */
    channelId?: string;
    /** Only channels of this provider; every provider when omitted */
    provider?: 'telegram' | 'slack' | 'whatsapp' | 'webhook' | 'email';
  };
}

export interface ChatAgent {
  /** Id of the member */
  userId: string;
  /** Email address with which the member signs in; visitors never see it */
  email: string;
  /** Name that visitors see; with null, visitors see a neutral word */
  displayName: string | null;
  /** Path of the picture, relative to the URL of this hub; requires no credentials. Null without a picture. A new picture has a new path. */
  picture: string | null;
  /** `offline`: no live connection for 30 seconds */
  presence: 'online' | 'away' | 'offline';
  /** Open conversations that are assigned to the agent */
  openConversations: number;
}

export interface ChatAgents {
  /** Members of the workspace */
  data: ChatAgent[];
}

export interface ChatAiSettings {
  /** Whether the AI agent is enabled; requires the entitlement `ai_agent` */
  enabled: boolean;
  /** `when_no_agent_online`: answers while no agent is online. `always`: also answers while agents are online; conversations are not assigned before a handoff. `shadow`: suggests replies to agents and sends nothing to visitors */
  mode: 'when_no_agent_online' | 'always' | 'off' | 'shadow';
  /** Description of the business, for the agent */
  businessProfile: string;
  /** Style of the answers, such as `friendly and brief` */
  tone: string;
  /** Language of the answers; `auto`: the language of the visitor */
  language: string;
  /** Notice to the visitor that an AI agent answers; the page's own text when empty */
  disclosure: string;
  /** A message with one of these whole words, in any case, is handed over to a person immediately */
  handoffKeywords: string[];
  /** Message to the visitor at a handoff; the hub's own text when empty */
  handoffMessage: string;
  /** Maximum number of replies since a person last wrote in the conversation; the next message is handed over to a person */
  maxRepliesPerConversation: number;
  /** Maximum number of replies and automatic suggestions per UTC day; further messages are handed over to a person */
  dailyReplyBudget: number;
  /** Milliseconds to wait for more after the last message of the visitor */
  debounceMs: number;
  /** Minimum score of the best knowledge source of an answer; below it the conversation is handed over to a person. 0 allows answers without sources */
  minConfidence: number;
  /** Tools that the agent may call, at most 5 calls and 20 seconds in total for each answer. The agent can call nothing else. Output of the skills is quoted to the model */
  tools: ChatAiTool[];
  /** Whether the workspace has the entitlement; without it the agent does not answer */
  entitlementActive: boolean;
  /** Usage of today */
  usage: {
    /** Today, UTC */
    day: string;
    /** Replies that the AI agent sent */
    replies: number;
    /** Automatic suggestions in the mode `shadow` */
    suggestions: number;
    /** Conversations that the AI agent handed over to people */
    handOvers: number;
    /** Tokens that were sent to models */
    inputTokens: number;
    /** Tokens that models wrote */
    outputTokens: number;
  };
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string | null;
}

export interface ChatAiSettingsPatch {
  /** Whether the AI agent is enabled; requires the entitlement `ai_agent` */
  enabled?: boolean;
  /** `when_no_agent_online`: answers while no agent is online. `always`: also answers while agents are online; conversations are not assigned before a handoff. `shadow`: suggests replies to agents and sends nothing to visitors */
  mode?: 'when_no_agent_online' | 'always' | 'off' | 'shadow';
  /** Description of the business, for the agent */
  businessProfile?: string;
  /** Style of the answers, such as `friendly and brief` */
  tone?: string;
  /** Language of the answers; `auto`: the language of the visitor */
  language?: string;
  /** Notice to the visitor that an AI agent answers; the page's own text when empty */
  disclosure?: string;
  /** A message with one of these whole words, in any case, is handed over to a person immediately */
  handoffKeywords?: string[];
  /** Message to the visitor at a handoff; the hub's own text when empty */
  handoffMessage?: string;
  /** Maximum number of replies since a person last wrote in the conversation; the next message is handed over to a person */
  maxRepliesPerConversation?: number;
  /** Maximum number of replies and automatic suggestions per UTC day; further messages are handed over to a person */
  dailyReplyBudget?: number;
  /** Milliseconds to wait for more after the last message of the visitor */
  debounceMs?: number;
  /** Minimum score of the best knowledge source of an answer; below it the conversation is handed over to a person. 0 allows answers without sources */
  minConfidence?: number;
  /** Tools that the agent may call, at most 5 calls and 20 seconds in total for each answer. The agent can call nothing else. Output of the skills is quoted to the model */
  tools?: ChatAiToolInput[];
}

export interface ChatAiTool {
  /** Name of the tool for the agent; unique among the tools */
  name: string;
  /** Id of the skill in the catalog. A read-only skill is called while the agent answers; any other skill creates an approval and runs after a person approves */
  skillId: string;
  /** Purpose of the tool, for the agent; the skill's own summary when empty */
  description: string;
  /** Fields of the skill's input that the agent cannot set. Texts may contain `{{visitor.externalId}}`, `{{visitor.id}}`, `{{conversation.id}}`; if the visitor lacks that id, the tool is not available */
  fixed: JsonObject;
  /** Whether answers may contain URLs from the output of the tool; enable it only if the workspace controls them */
  links: boolean;
}

export interface ChatAiToolInput {
  /** Name of the tool for the agent; unique among the tools */
  name: string;
  /** Id of the skill in the catalog. A read-only skill is called while the agent answers; any other skill creates an approval and runs after a person approves */
  skillId: string;
  /** Purpose of the tool, for the agent; the skill's own summary when empty */
  description?: string;
  /** Fields of the skill's input that the agent cannot set. Texts may contain `{{visitor.externalId}}`, `{{visitor.id}}`, `{{conversation.id}}`; if the visitor lacks that id, the tool is not available */
  fixed?: Record<string, unknown>;
  /** Whether answers may contain URLs from the output of the tool; enable it only if the workspace controls them */
  links?: boolean;
}

export interface ChatAiToolUse {
  /** Name of the tool, as in the settings; empty for an unknown tool */
  name: string;
  /** Duration of the call, in milliseconds */
  ms: number;
  /** Result of the call; `approval_asked`: a person must approve */
  outcome: 'answered' | 'approval_asked' | 'invalid_input' | 'failed' | 'timeout' | 'unknown_tool';
}

export interface ChatAttachment {
  /** Id of the file */
  id: string;
  /** File name, at most 200 characters */
  name: string;
  /** Media type, detected from the content */
  contentType: string;
  /** Size in bytes, at most 10,485,760 */
  bytes: number;
}

export interface ChatDraft {
  /** Text of the draft, at most 10,000 characters */
  content: string;
  /** Whether it is the draft of a private note */
  private: boolean;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
}

export interface ChatErrorFrame {
  /** The last frame of the client was refused */
  type: 'error';
  /** Stable code, for programs */
  code: string;
  /** Human-readable message: what was wrong */
  message: string;
}

/** A message that the visitor can see */
export interface ChatMessage {
  /** Id of the message */
  id: string;
  /** Conversation of the message */
  conversationId: string;
  /** Number of the message in its conversation, without gaps */
  seq: number;
  /** Text of the message, at most 10,000 characters; empty if only files were sent */
  content: string;
  /** `visitor` and `agent` are people, `api` is an API key or a workflow, `ai` the AI agent, `system` the hub */
  senderType: 'visitor' | 'agent' | 'api' | 'ai' | 'system';
  /** Id of the visitor, member or API key; null for other senders */
  senderId: string | null;
  /** Display name of the agent who wrote it; null for other senders, without a display name, and for a former member */
  senderName: string | null;
  /** Path of the picture of the agent who wrote it, relative to the URL of this hub; requires no credentials. Null for other senders and without a picture. */
  senderPicture: string | null;
  /** Files of the message, at most 5 */
  attachments: ChatAttachment[];
  /** The sender's own id of the message; a repeated id is stored once. Null without one */
  clientId: string | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
}

export interface ChatMessagePage {
  /** Rows of this page, at most `meta.limit` */
  data: ChatMessage[];
  meta: PageMeta;
}

export interface ChatMessageSource {
  /** Id of the knowledge entry */
  id: string;
  /** Page on which visitors can read more; null without one */
  url: string | null;
}

/** How the chat of the workspace looks and behaves */
export interface ChatPageSettings {
  /** Title of the chat */
  title: string;
  /** Greeting; null: the page's own, in the visitor's language */
  greeting: string | null;
  /** Brand color, `#rrggbb` */
  colour: string;
  /** Language of the page; null: the language of the visitor */
  locale: 'en' | 'de' | 'fr' | 'es' | 'ar' | 'ja' | null;
  /** Whether visitors without a token may start a conversation */
  allowAnonymous: boolean;
  /** Which fields the page requests from a visitor without a token */
  preChat: {
    /** Whether the page requests a name */
    name: 'off' | 'optional' | 'required';
    /** Whether the page requests an email address */
    email: 'off' | 'optional' | 'required';
  };
  /** Whether visitors are asked for a rating after a conversation is closed */
  ratings: boolean;
  /** Whether the chat is open now, by its business hours */
  open: boolean;
  /** Text outside the business hours; empty while the chat is open */
  awayMessage: string;
}

export interface ChatRating {
  /** Score from 1 (worst) to 5 (best) */
  score: number;
  /** Comment, at most 2,000 characters; may be empty */
  comment: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
}

export interface ChatSession {
  /** Open conversation of the visitor; created if there was none */
  conversationId: string;
  /** URL of the hosted chat page, which opens the conversation; valid until `expiresAt` */
  chatUrl: string;
  /** External id of the visitor, as it was sent */
  externalId: string;
  /** Token for `boot` of the widget; opens only this conversation */
  visitorToken: string;
  /** ISO 8601, UTC, with milliseconds */
  expiresAt: string;
  /** Site key of the workspace, `wgt_…`, for the script tag */
  siteKey: string;
}

export interface ChatSettings {
  /** Title of the page and the widget. Pages translate the default title */
  title: string;
  /** Text above the messages; null: `How can we help?` in the visitor's language; empty: no greeting */
  greeting: string | null;
  /** Color of the launcher and of the messages of the visitor */
  colour: string;
  /** Language of the page; null: the visitor's language if supported, otherwise English */
  locale: 'en' | 'de' | 'fr' | 'es' | 'ar' | 'ja' | null;
  /** Origins that may show the widget; none when empty */
  allowedOrigins: string[];
  /** Whether visitors without a token may start a conversation */
  allowAnonymous: boolean;
  /** Fields that the page requests from a visitor without a token; they do not identify the visitor */
  preChat: {
    /** Whether the page requests the field */
    name: 'off' | 'optional' | 'required';
    /** Whether the page requests the field */
    email: 'off' | 'optional' | 'required';
  };
  /** Business hours; null for a chat that is always open */
  businessHours: {
    /** IANA time zone of the periods, such as `Europe/Berlin` */
    timeZone: string;
    /** Times at which the chat is open, at most 50 */
    periods: {
      /** Day of the week */
      day: 'monday' | 'tuesday' | 'wednesday' | 'thursday' | 'friday' | 'saturday' | 'sunday';
      /** Local time at which the period starts, `HH:MM` */
      from: string;
      /** Local time at which the period ends, `HH:MM`; `24:00` for the end of the day */
      to: string;
    }[];
    /** Shown outside the periods, at most 500 characters; may be empty */
    awayMessage: string;
  } | null;
  /** Assigns new and reopened conversations to the online agent with the fewest open ones, then the longest idle */
  autoAssignment: {
    /** Whether conversations are assigned automatically */
    enabled: boolean;
    /** Maximum number of open live conversations, and of open test conversations, that one agent gets automatically */
    capacity: number;
    /** Whether open conversations of an agent who is away are reassigned */
    returnToPool: boolean;
  };
  /** Whether visitors are asked for a rating */
  ratings: boolean;
  /** Days after the last message until resolved and closed conversations are erased; null keeps them */
  retentionDays: number | null;
  /** Whether whole IP addresses of visitors are stored; otherwise the last part is removed */
  keepAddresses: boolean;
  /** Site key of the workspace, `wgt_…`, for the script tag */
  siteKey: string;
  /** Script tag for the allowed sites */
  snippet: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string | null;
}

export interface ChatSettingsPatch {
  /** Title of the page and the widget. Pages translate the default title */
  title?: string;
  /** Text above the messages; null: `How can we help?` in the visitor's language; empty: no greeting */
  greeting?: string | null;
  /** Color of the launcher and of the messages of the visitor */
  colour?: string;
  /** Language of the page; null: the visitor's language if supported, otherwise English */
  locale?: 'en' | 'de' | 'fr' | 'es' | 'ar' | 'ja' | null;
  /** Origins that may show the widget; none when empty */
  allowedOrigins?: string[];
  /** Whether visitors without a token may start a conversation */
  allowAnonymous?: boolean;
  /** Fields that the page requests from a visitor without a token; they do not identify the visitor */
  preChat?: {
    /** Whether the page requests the field */
    name: 'off' | 'optional' | 'required';
    /** Whether the page requests the field */
    email: 'off' | 'optional' | 'required';
  };
  /** Business hours; null for a chat that is always open */
  businessHours?: {
    /** IANA time zone of the periods, such as `Europe/Berlin` */
    timeZone: string;
    /** Times at which the chat is open, at most 50 */
    periods: {
      /** Day of the week */
      day: 'monday' | 'tuesday' | 'wednesday' | 'thursday' | 'friday' | 'saturday' | 'sunday';
      /** Local time at which the period starts, `HH:MM` */
      from: string;
      /** Local time at which the period ends, `HH:MM`; `24:00` for the end of the day */
      to: string;
    }[];
    /** Shown outside the periods, at most 500 characters; may be empty */
    awayMessage: string;
  } | null;
  /** Assigns new and reopened conversations to the online agent with the fewest open ones, then the longest idle */
  autoAssignment?: {
    /** Whether conversations are assigned automatically */
    enabled: boolean;
    /** Maximum number of open live conversations, and of open test conversations, that one agent gets automatically */
    capacity: number;
    /** Whether open conversations of an agent who is away are reassigned */
    returnToPool: boolean;
  };
  /** Whether visitors are asked for a rating */
  ratings?: boolean;
  /** Days after the last message until resolved and closed conversations are erased; null keeps them */
  retentionDays?: number | null;
  /** Whether whole IP addresses of visitors are stored; otherwise the last part is removed */
  keepAddresses?: boolean;
}

export interface ChatVisitors {
  /** Visitors, newest first */
  data: Visitor[];
  /** Position of this page in the list */
  meta?: {
    /** Rows per page that this request used, 1 to 100 */
    limit: number;
    /** Send it as `cursor` to read the next page; null on the last page */
    nextCursor: string | null;
  };
}

export interface Command {
  /** Id of the command */
  id: string;
  /** Type of the command, such as `node.ping` */
  type: string;
  /** Input of the command; its fields depend on `type` */
  input: JsonObject;
  /** After this time the hub ignores the result */
  expiresAt: string;
  /** Milliseconds from now until the device must end the command, independent of its clock; at the latest `expiresAt` */
  endsInMs: number;
  /** Seconds until the lease expires unless a heartbeat renews it */
  leaseSeconds: number;
  approval?: CommandApproval;
  origin?: CommandOrigin;
}

/** Approval of a command, which the device checks before it runs the command */
export interface CommandApproval {
  /** Id of the approval */
  id: string;
  /** SHA-256 of the canonical JSON (RFC 8785) of node, argv, cwd, env, stdin and timeoutMs */
  requestHash: string;
  /** Actor who approved, as in the audit log */
  approvedBy: string;
  /** ISO 8601, UTC, with milliseconds */
  approvedAt: string;
}

/** Origin of a command. Its texts come from users of the hub: show them as text only */
export interface CommandOrigin {
  /** Workspace that sends the command */
  workspace: {
    /** Id of the workspace */
    id: string;
    /** Name of the workspace */
    name: string;
  };
  /** Workflow of the run; missing for a direct run of a skill */
  workflow?: {
    /** Id of the workflow */
    id: string;
    /** Name of the workflow */
    name: string;
  };
  /** Run that sends the command */
  run?: {
    /** Id of the run */
    id: string;
    /** Step that sends the command */
    step?: {
      /** Position of the step, from 0 */
      index: number;
      /** Label of the step; missing without one */
      name?: string;
    };
  };
  /** Who or what started the run */
  startedBy?: {
    /** One of user, key, hook, schedule, event, channel, device, run, other; newer hubs can send other values */
    kind: string;
    /** Id of the user, API key, channel or parent run */
    id?: string;
    /** Email address of the user, name of the API key, or name of the trigger */
    name: string;
  };
  /** Approver; missing when the command required no approval */
  approvedBy?: {
    /** Kind of the approver; a decision by a mailed link counts as the user */
    kind: 'user' | 'key';
    /** Id of the user or API key; the email address of an approver outside the workspace */
    id: string;
    /** Email address of the user or name of the API key */
    name: string;
    /** ISO 8601, UTC, with milliseconds */
    at: string;
  };
  /** Note of the approver, otherwise the title of the approval or the name of the step */
  reason?: string;
}

export interface CommandResult {
  /** Whether the command succeeded */
  status: 'succeeded' | 'failed';
  /** Output of the command, as the catalog of skills describes it. Instead of `artifactId`, the device sends `artifact`, the name of a file of this result; the hub replaces it. Other fields, such as `contentType` and `bytes`, are required as in the catalog */
  output?: unknown;
  /** Why the command failed; only with `failed` */
  error?: {
    /** Error code, such as denied_by_device, denied_by_policy, outside_shared_folders, downloads_not_received, hub_unreachable, tool_missing, permission_needed, timeout, paused, audit_unavailable, protected_path, not_begun, interrupted, approval_mismatch, invalid_input, not_found, target_not_found, too_large, navigation_failed, page_closed, page_of_another_run, too_many_pages, evaluation_failed, withdrawn, outcome_unknown, unknown_command, failed, node_offline, node_revoked, invalid_reply */
    code: string;
    /** Human-readable message: what went wrong; at most 4,000 characters */
    message: string;
  };
  /** Files of the result, at most 16, as base64 in this body */
  artifacts?: {
    /** Plain file name, unique in the result */
    name: string;
    /** Content type without parameters, such as `image/png` */
    contentType: string;
    /** Bytes of the file, as base64 */
    base64: string;
  }[];
  /** Names of artifacts that were uploaded before the result */
  uploads?: string[];
}

export interface Contact {
  /** Id of the contact */
  id: string;
  /** Email address in lower case; unique in its list */
  email: string;
  /** Name of the person; null when it is not known */
  name: string | null;
  /** Your own fields, for use in campaign templates; at most 50 keys and 16 KiB in total */
  attributes: JsonObject;
  /** ISO 8601, UTC, with milliseconds */
  unsubscribedAt: string | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
}

export interface ContactList {
  /** Id of the list */
  id: string;
  /** Display name, at most 200 characters */
  name: string;
  /** Number of contacts, including unsubscribed ones */
  contacts: number;
  /** Number of unsubscribed contacts */
  unsubscribed: number;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
}

export interface ContactListPage {
  /** Rows of this page, at most `meta.limit` */
  data: ContactList[];
  meta: PageMeta;
}

export interface ContactPage {
  /** Rows of this page, at most `meta.limit` */
  data: Contact[];
  meta: PageMeta;
}

export interface Conversation {
  /** Id of the conversation */
  id: string;
  /** Title for agents, at most 200 characters */
  name: string;
  /** Source of the conversation, such as `api` or `Mobile App`; at most 100 characters */
  source: string;
  /** A message of the visitor reopens `pending` and `resolved`; a `closed` conversation stays closed */
  status: 'open' | 'pending' | 'resolved' | 'closed';
  /** Urgency, as set by agents, keys or workflows */
  priority: 'low' | 'normal' | 'high' | 'urgent';
  /** Assigned member; null without one */
  assignedUserId: string | null;
  /** Visitor of the conversation; null without one */
  visitorId: string | null;
  /** Number of visitor messages that no agent has read */
  unreadCount: number;
  /** ISO 8601, UTC, with milliseconds */
  lastMessageAt: string | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
}

export interface ConversationPage {
  /** Rows of this page, at most `meta.limit` */
  data: Conversation[];
  meta: PageMeta;
}

export interface CreateAgent {
  /** Display name, 1 to 200 characters */
  name: string;
  /** Instructions for the model, at most 50,000 characters */
  systemPrompt?: string;
  /** Tool profile with the skills that the agent may call; null for none */
  toolProfileId?: string | null;
  /** Keys that route inbound messages to this agent, at most 50 */
  routeKeys?: string[];
  /** Id of a model of the workspace; null for the failover order */
  model?: string | null;
}

export interface CreateAiRun {
  /** Question, 1 to 4,000 code points */
  input: string;
  /** Facts for the answer, at most 24,000 code points. They are quoted as data: the model does not follow instructions in them */
  context?: string;
  /** Your own data for finding the run: at most 50 keys of 40 characters, with texts of 500. It is not sent to models */
  metadata?: Record<string, string>;
  /** Kind of the answer; `text` is the only one and the default */
  mode?: 'text';
  /** Language of the answer (BCP 47); the language of the input when omitted */
  locale?: string;
}

export interface CreateApiToken {
  /** Display name, 1 to 200 characters */
  name: string;
  /** Product whose API the key can call */
  product: 'chat' | 'ai' | 'automations' | 'voice';
  /** Live Chat: `test` keys see and change only test visitors and conversations. Automations: `test` keys share the data of the workspace. Their runs are test runs, whose mails, channel messages and webhooks are recorded as simulated and not sent. They cannot change live workflows, live runs and their approvals, or what live runs use (sequences, agents, tool profiles, channels, nodes, models, the policy, live sessions, installed packs). Node commands and model calls are real in both environments */
  environment?: 'live' | 'test';
  /** Permissions of the key, 1 to 10 of those of the product */
  permissions: ('chat:write' | 'chat:read' | 'visitors:read' | 'webhooks:manage' | 'ai:invoke' | 'ai:speak' | 'ai:voice' | 'knowledge:manage' | 'usage:read' | 'automations:manage' | 'automations:read' | 'automations:run' | 'approvals:decide' | 'voice:read' | 'voice:export' | 'connections:manage')[];
  /** When the key expires; never when omitted */
  expiresAt?: string;
  /** CIDR blocks or addresses, IPv4 and IPv6; any address when omitted */
  ipAllowlist?: string[];
}

export interface CreateCallConnection {
  /** Carrier that sends the events; cannot be changed later */
  provider: 'twilio' | 'telnyx' | 'kamailio';
  /** Display name, 1 to 200 characters */
  name: string;
  /** Twilio: auth token of the account, which signs the events; write-only */
  authToken?: string;
  /** Telnyx: public key of the account, as base64; write-only */
  publicKey?: string;
  /** Twilio: SID of the account. With it, missing calls are imported from Twilio's own list every night */
  accountSid?: string;
  /** Twilio: base URL of the API, https; default `https://api.twilio.com`. With a new URL, `authToken` must be sent again */
  apiBaseUrl?: string;
}

export interface CreatePushSubscription {
  /** https URL of the push service, from `PushSubscription.endpoint` */
  endpoint: string;
  /** Keys with which messages are encrypted, from `PushSubscription.toJSON()` */
  keys: {
    /** Public key of the browser: an uncompressed point on the curve P-256, base64url */
    p256dh: string;
    /** Authentication secret of the browser: 16 bytes, base64url */
    auth: string;
  };
}

export interface CreateSequence {
  /** Display name, 1 to 200 characters */
  name: string;
  /** Steps in the order in which they run, 1 to 200 */
  steps: StepInput[];
}

export interface CreateWorkflow {
  /** Display name, 1 to 200 characters */
  name: string;
  /** Whether the trigger starts runs immediately */
  active?: boolean;
  triggerJson?: TriggerInput;
  /** Steps in the order in which they run, 1 to 200 */
  stepsJson: StepInput[];
  /** Limits on its runs; none when omitted or null */
  limits?: WorkflowLimitsInput | null;
  /** Schema of the payload of its runs; any payload when omitted or null */
  inputs?: WorkflowInputs | null;
}

export interface CreatedApiToken {
  /** Id of the key */
  id: string;
  /** Display name, at most 200 characters */
  name: string;
  /** Product whose API the key can call */
  product: 'chat' | 'ai' | 'automations' | 'voice';
  /** Live Chat: `test` keys see and change only test visitors and conversations. Automations: `test` keys share the data of the workspace. Their runs are test runs, whose mails, channel messages and webhooks are recorded as simulated and not sent. They cannot change live workflows, live runs and their approvals, or what live runs use (sequences, agents, tool profiles, channels, nodes, models, the policy, live sessions, installed packs). Node commands and model calls are real in both environments */
  environment: 'live' | 'test';
  /** Permissions of the key */
  permissions: ('chat:write' | 'chat:read' | 'visitors:read' | 'webhooks:manage' | 'ai:invoke' | 'ai:speak' | 'ai:voice' | 'knowledge:manage' | 'usage:read' | 'automations:manage' | 'automations:read' | 'automations:run' | 'approvals:decide' | 'voice:read' | 'voice:export' | 'connections:manage')[];
  /** Visible part of the key, without its secret */
  keyHint: string;
  /** CIDR blocks or addresses from which the key is accepted; any address when empty */
  ipAllowlist: string[];
  /** ISO 8601, UTC, with milliseconds */
  expiresAt: string | null;
  /** ISO 8601, UTC, with milliseconds */
  lastUsedAt: string | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** Id of the workspace */
  tenantId: string;
  /** The whole key, returned only once */
  key: string;
}

export interface CronSchedule {
  /** Fires at the times of a cron expression */
  kind: 'cron';
  /** Five fields: minute, hour, day of the month, month, day of the week */
  cron: string;
  /** IANA time zone of the schedule, such as `Europe/Berlin` */
  timezone: string;
  /** What happens to scheduled times that passed while the hub was down. A time that is missed by at most 10 seconds always starts a run */
  onMissed: 'skip' | 'last' | 'all';
  /** With `onMissed: all`: maximum number of missed times that start a run, the latest ones. Times missed by at most 10 seconds do not count */
  maxCatchUp: number;
  /** What happens when the schedule fires while a run of the workflow is in progress */
  overlap: 'allow' | 'skip' | 'queue';
  /** Maximum random delay of each run, in seconds */
  jitterSeconds: number;
}

export interface CronScheduleInput {
  /** Fires at the times of a cron expression */
  kind: 'cron';
  /** Five fields: minute, hour, day of the month, month, day of the week */
  cron: string;
  /** IANA time zone of the schedule, such as `Europe/Berlin` */
  timezone?: string;
  /** What happens to scheduled times that passed while the hub was down. A time that is missed by at most 10 seconds always starts a run */
  onMissed?: 'skip' | 'last' | 'all';
  /** With `onMissed: all`: maximum number of missed times that start a run, the latest ones. Times missed by at most 10 seconds do not count */
  maxCatchUp?: number;
  /** What happens when the schedule fires while a run of the workflow is in progress */
  overlap?: 'allow' | 'skip' | 'queue';
  /** Maximum random delay of each run, in seconds */
  jitterSeconds?: number;
}

export interface DecideApproval {
  /** `approved` continues the run, `rejected` fails the step */
  decision: 'approved' | 'rejected';
  /** Reason, at most 2,000 characters; shown in the run and with the approval */
  note?: string;
}

export interface Deleted {
  /** Id of the deleted resource */
  id: string;
  /** Always true; a failure is an error response */
  deleted: true;
}

export interface DeletedWorkflow {
  /** Id of the workflow */
  id: string;
  /** Display name, at most 200 characters */
  name: string;
  /** Last version */
  version: number;
  /** `test` if all its runs were test runs */
  environment: 'live' | 'test';
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  deletedAt: string;
}

export interface DeletedWorkflowPage {
  /** Rows of this page, at most `meta.limit` */
  data: DeletedWorkflow[];
  meta: PageMeta;
}

export interface DeliverStep {
  /** Sends a message through a channel */
  type: 'deliver';
  /** Provider of the channel */
  provider: 'telegram' | 'slack' | 'whatsapp' | 'webhook' | 'email';
  /** Channel of the provider; its only active channel when omitted. Email without a channel is sent with `email.send` */
  channelId?: string;
  /** Recipient at the provider: an email address, phone number or chat id; may contain templates */
  to: string;
  /** Subject, for email */
  subject?: string;
  /** Text of the message, at most 20,000 characters; may contain templates */
  text: string;
  /** URL of a file to send with the text, if the provider supports it */
  mediaUrl?: string;
  /** Id of the step; later steps refer to it as `{{steps.<id>.output}}` */
  id?: string;
  /** Display name, at most 200 characters */
  name?: string;
  /** Template; the step is skipped unless it renders to a truthy value */
  when?: string;
  /** Whether the run continues when the step fails after all attempts; default false */
  continueOnError?: boolean;
  /** Retry policy; the policy of the skill when omitted */
  retry?: {
    /** Attempts in total, 1 to 10 */
    maxAttempts: number;
    /** Seconds before the second attempt */
    backoffSeconds: number;
    /** Multiplier of each further wait */
    factor: number;
  };
  /** Seconds to wait before the step starts; the wait occupies no worker */
  delaySeconds?: number;
  /** Timeout of each attempt, in seconds */
  timeoutSeconds?: number;
}

export interface DeliverStepInput {
  /** Sends a message through a channel */
  type: 'deliver';
  /** Provider of the channel */
  provider: 'telegram' | 'slack' | 'whatsapp' | 'webhook' | 'email';
  /** Channel of the provider; its only active channel when omitted. Email without a channel is sent with `email.send` */
  channelId?: string;
  /** Recipient at the provider: an email address, phone number or chat id; may contain templates */
  to: string;
  /** Subject, for email */
  subject?: string;
  /** Text of the message, at most 20,000 characters; may contain templates */
  text: string;
  /** URL of a file to send with the text, if the provider supports it */
  mediaUrl?: string;
  /** Id of the step; later steps refer to it as `{{steps.<id>.output}}` */
  id?: string;
  /** Display name, at most 200 characters */
  name?: string;
  /** Template; the step is skipped unless it renders to a truthy value */
  when?: string;
  /** Whether the run continues when the step fails after all attempts; default false */
  continueOnError?: boolean;
  /** Retry policy; the policy of the skill when omitted */
  retry?: {
    /** Attempts in total, 1 to 10 */
    maxAttempts: number;
    /** Seconds before the second attempt */
    backoffSeconds?: number;
    /** Multiplier of each further wait */
    factor?: number;
  };
  /** Seconds to wait before the step starts; the wait occupies no worker */
  delaySeconds?: number;
  /** Timeout of each attempt, in seconds */
  timeoutSeconds?: number;
}

/** Device information of a heartbeat; each field is optional */
export interface DeviceFacts {
  /** Processor; missing when it is not known */
  cpu?: {
    /** Model of the processor */
    model: string;
    /** Logical cores */
    cores: number;
    /** Load over all cores, 0 to 100 */
    loadPercent: number;
  };
  /** Main memory; missing when it is not known */
  memory?: {
    /** Installed memory, in bytes */
    totalBytes: number;
    /** Memory that programs can still use, in bytes */
    availableBytes: number;
  };
  /** Mounted file systems, at most 50 */
  disks?: {
    /** Mount point or drive, such as `/` or `C:` */
    mount: string;
    /** Capacity, in bytes */
    totalBytes: number;
    /** Used space, in bytes */
    usedBytes: number;
  }[];
  /** Battery; null for a device without one */
  battery?: {
    /** Charge, 0 to 100 */
    percent: number;
    /** Whether the battery is being charged */
    charging: boolean;
  } | null;
  /** Displays, at most 16 */
  displays?: {
    /** Index of the display, from 0, as used in `screen` commands */
    index: number;
    /** Name of the display; may be empty */
    name: string;
    /** Width in pixels */
    width: number;
    /** Height in pixels */
    height: number;
  }[];
  /** Seconds since the device started */
  uptimeSeconds?: number;
  /** Commands that wait for the owner of the device to allow them */
  waitingForOwner?: string[];
}

/** What a device reports about itself. It is not trusted: show it as text only */
export interface DeviceInfo {
  /** Host name of the device */
  name: string;
  /** Platform as Node.js names it: `linux`, `darwin` or `win32` */
  platform: string;
  /** Processor architecture as Node.js names it, such as `x64` or `arm64` */
  arch: string;
  /** Version of the operating system; may be empty */
  osVersion: string;
  /** Version of the companion */
  appVersion: string;
  /** Command types that the device can execute now */
  capabilities: string[];
  /** State of each power on the device; missing until the companion reports it, and for earlier companions */
  powers?: DevicePowers;
}

/** Switch of the owner and answer of the operating system for a power. It is not trusted: show it as text only */
export interface DevicePower {
  /** Whether the owner of the device allows the power now */
  isAllowed: boolean;
  /** When the owner's permission expires; null if it does not */
  until: string | null;
  /** Whether the owner is asked about each use that no rule of the owner decides */
  asksOwner: boolean;
  /** Whether the operating system lets the companion use the power */
  system: {
    /** `missing`: a device or program is missing; `unknown`: only a use shows it */
    state: 'granted' | 'denied' | 'missing' | 'unknown';
    /** Details, such as the displays or the missing program. Empty unless the owner allows the power */
    detail: string;
    /** How to solve a problem; null without one */
    remedy: {
      /** What the owner of the device can do */
      text: string;
      /** Command to run on the device; null if there is none */
      command: string | null;
    } | null;
  };
}

/** Powers of a device by name */
export interface DevicePowers {
  screen?: DevicePower;
  camera?: DevicePower;
  audio?: DevicePower;
  files?: DevicePower;
  system?: DevicePower;
  browser?: DevicePower;
}

export interface DryRun {
  /** Always true: no run was started */
  dryRun: true;
  /** Whether no problem is known that would make a step fail */
  runnable: boolean;
  /** One entry for each step, in the order of the workflow */
  steps: {
    /** Position of the step, from 0 */
    index: number;
    /** `id` of the step; null without one */
    id: string | null;
    /** Type of the step, such as `skill` */
    type: string;
    /** Skill that the step would call; null for other types of steps */
    skillId: string | null;
    /** Result of `when`; `unknown` when it depends on the output of earlier steps */
    willRun: 'yes' | 'no' | 'unknown';
    /** Input of the step. Templates with known values are resolved; others are unchanged */
    input: JsonValue;
    /** References whose values are known only during the run */
    unresolved: string[];
    /** Effect of the step, in one sentence */
    effect: string;
    /** Whether the step requires an approval */
    needsApproval: boolean;
    /** Known problems that would make the step fail; may be empty */
    problems: string[];
  }[];
}

export interface EndEvent {
  /** The stream ends because the caller lost access */
  type: 'end';
  /** Stable reason, such as `token_revoked` */
  code: string;
  /** Human-readable reason */
  message: string;
}

export interface EndedSessions {
  /** Number of sessions that ended */
  ended: number;
}

export interface Entitlements {
  /** Live Chat: widget, inbox and API */
  conversations_suite: boolean;
  /** AI answers, suggestions and AI runs */
  ai_agent: boolean;
  /** Workflows, companion nodes and everything else in Automations */
  automations: boolean;
  /** Call records and SIP */
  business_calling: boolean;
  /** Skills that send email */
  business_email: boolean;
  /** Contact lists and campaigns */
  marketing: boolean;
  /** Voice conversations with the AI agent; also requires `ai_agent` */
  business_phone: boolean;
}

export interface Error {
  /** HTTP status, 400 to 599 */
  statusCode: number;
  /** Reason phrase of the status */
  error: string;
  /** Human-readable message: what is wrong and what to do */
  message: string;
  /** Id of the request, as in `X-Request-ID` and in the log of the hub */
  requestId: string;
  /** Stable error code, for programs */
  code: string;
  /** Id of the failed run, if the run is stored */
  runId?: string;
  /** With `assignment_conflict`: user to whom the conversation is assigned now; null for none */
  assignedUserId?: string | null;
  /** One entry for each invalid field; missing for errors without a field */
  details?: {
    /** Location of the field, such as `body.steps[0].input` */
    path: string;
    /** What the field must be */
    message: string;
  }[];
}

export interface EventTrigger {
  /** Version of the trigger format; 1 is the only one */
  schemaVersion: 1;
  /** Starts when an event of Live Chat matches */
  type: 'event';
  /** Which events start the workflow */
  event: {
    /** Type of the event, such as `message.created` */
    type: 'message.created' | 'conversation.created' | 'conversation.closed' | 'conversation.assigned' | 'csat.submitted' | 'visitor.created';
    /** Payload fields by path, each with the required value or a list of at most 1,000 accepted values */
    filter?: JsonObject;
  };
}

export interface EventTriggerInput {
  /** Version of the trigger format; 1 is the only one */
  schemaVersion?: 1;
  /** Starts when an event of Live Chat matches */
  type: 'event';
  /** Which events start the workflow */
  event: {
    /** Type of the event, such as `message.created` */
    type: 'message.created' | 'conversation.created' | 'conversation.closed' | 'conversation.assigned' | 'csat.submitted' | 'visitor.created';
    /** Payload fields by path, each with the required value or a list of at most 1,000 accepted values */
    filter?: Record<string, unknown>;
  };
}

export interface Failure {
  /** Stable code of the failure, for programs */
  code: string;
  /** Human-readable message: what went wrong and what to do */
  message: string;
  /** Index of the step that failed, from 0; missing when no step failed */
  stepIndex?: number;
}

export interface Flow {
  /** Id of the flow */
  id: string;
  /** Workflow of its runs */
  workflowId: string;
  /** Number of runs so far, from 1; each retry increments it */
  revision: number;
  /** Status of the latest run */
  status: 'queued' | 'running' | 'waiting_approval' | 'succeeded' | 'failed' | 'cancelled';
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
}

export interface FlowPage {
  /** Rows of this page, at most `meta.limit` */
  data: Flow[];
  meta: PageMeta;
}

export interface FlowWithRuns {
  /** Id of the flow */
  id: string;
  /** Workflow of its runs */
  workflowId: string;
  /** Number of runs so far, from 1; each retry increments it */
  revision: number;
  /** Status of the latest run */
  status: 'queued' | 'running' | 'waiting_approval' | 'succeeded' | 'failed' | 'cancelled';
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
  /** Runs of the flow, oldest first */
  runs: RunSummary[];
}

export type GrowthResource = Workflow | Sequence | Agent | ToolProfile | Channel | Node | Session;

export interface HeartbeatTrigger {
  /** Version of the trigger format; 1 is the only one */
  schemaVersion: 1;
  /** Starts at the times of a schedule, for regular checks by an AI agent */
  type: 'heartbeat';
  schedule: Schedule;
}

export interface HeartbeatTriggerInput {
  /** Version of the trigger format; 1 is the only one */
  schemaVersion?: 1;
  /** Starts at the times of a schedule, for regular checks by an AI agent */
  type: 'heartbeat';
  schedule: ScheduleInput;
}

export interface HostedSip {
  /** Whether the workspace opted in */
  enabled: boolean;
  /** Whether phones of the workspace can connect; otherwise see `reason` */
  ready: boolean;
  /** `sip_server_not_configured`: the operator has not configured a SIP server (`SIP_DOMAIN`). `credentials_outdated`: the workspace opted in before there was a server, or with another domain; opt in again for new credentials */
  reason?: 'sip_server_not_configured' | 'credentials_outdated';
  /** Whether the workspace has the entitlement; losing it does not change `enabled` */
  entitled: boolean;
  /** Domain of the SIP server; null without one */
  domain: string | null;
  /** Your SIP user at `domain`; null unless the workspace opted in and there is a server */
  username: string | null;
  /** WebSocket URL for softphones of signed-in users; null if not offered */
  wsUrl: string | null;
  /** Credentials for a phone that registers at `domain` itself, with MD5. Returned only by the opt-in that created them; opt out and in again for new ones */
  credentials?: SipCredentials;
}

/** How often the device should call the hub */
export interface HubPace {
  /** Seconds for which the device should keep a poll open */
  pollSeconds: number;
  /** Seconds between two heartbeats */
  heartbeatSeconds: number;
}

export interface HubPack {
  /** Id of the published version */
  id: string;
  /** Id of the pack, as in its manifest */
  packId: string;
  /** Version of the pack, as in its manifest */
  version: string;
  /** The pack */
  manifest: {
    /** Lower-case words joined by hyphens, at most 100 characters */
    id: string;
    /** Display name, at most 200 characters */
    name: string;
    /** Three numbers such as `1.0.0` */
    version: string;
    /** Publisher of the pack, at most 200 characters */
    publisher: string;
    /** Human-readable summary of what the pack does */
    summary: string;
    /** Inputs of a workflow of the pack, as a subset of JSON Schema */
    inputsSchema: {
      /** Always `object` */
      type: 'object';
      /** Inputs by name */
      properties: JsonObject;
      /** Names of the inputs that must be given, at most 50 */
      required: string[];
    };
    /** Every skill that the graph uses */
    skills: string[];
    /** Hosts that the pack calls or opens: a name, with a port unless it is the default port, or `inputs.<name>` for the host of an input of format `uri` */
    hosts: string[];
    /** Names of inputs that contain a secret */
    secrets: string[];
    /** What the pack does on companion nodes */
    nodePowers: ('ping' | 'screen' | 'camera' | 'audio' | 'files' | 'browser' | 'system')[];
    /** Trigger and steps of workflows of the pack */
    graph: {
      /** As `triggerJson` of a workflow; `{{inputs.<name>}}` inserts an input */
      trigger: JsonObject;
      /** As `stepsJson` of a workflow; a step with `ifInput` is omitted when that input is empty */
      steps: JsonObject[];
    };
  };
  /** When the version was published */
  createdAt: string;
  /** When the version was withdrawn, so that workspaces cannot install it any more; null if it was not */
  withdrawnAt: string | null;
}

export interface HubPackPage {
  /** Rows of this page, at most `meta.limit` */
  data: HubPack[];
  meta: PageMeta;
}

export interface InboxActivity {
  /** Ids of the members who view the conversation now */
  viewers: string[];
}

export interface InboxBulk {
  /** Conversations to change, 1 to 100 */
  ids: string[];
  /** New status; unchanged when omitted */
  status?: 'open' | 'pending' | 'resolved' | 'closed';
  /** New priority; unchanged when omitted */
  priority?: 'low' | 'normal' | 'high' | 'urgent';
  /** End of the snooze; until then the views of open work omit it. A visitor message or null ends the snooze */
  snoozedUntil?: string | null;
  /** Id of a member; null for no assignee */
  assignedUserId?: string | null;
}

export interface InboxBulkAnswer {
  /** One entry for each id, in the order of `ids` */
  results: {
    /** Id of the conversation */
    id: string;
    /** Whether the conversation was changed */
    ok: boolean;
    /** Stable code of the refusal; null when it was changed */
    code: string | null;
    /** Human-readable reason of the refusal; null when the conversation was changed */
    message: string | null;
  }[];
}

/** A conversation as agents see it */
export interface InboxConversation {
  /** Id of the conversation */
  id: string;
  /** Title for agents, at most 200 characters */
  name: string;
  /** Source of the conversation, such as `api` or `Mobile App`; at most 100 characters */
  source: string;
  /** A message of the visitor reopens `pending` and `resolved`; a `closed` conversation stays closed */
  status: 'open' | 'pending' | 'resolved' | 'closed';
  /** Urgency, as set by agents, keys or workflows */
  priority: 'low' | 'normal' | 'high' | 'urgent';
  /** Assigned member; null without one */
  assignedUserId: string | null;
  /** Visitor of the conversation; null without one */
  visitorId: string | null;
  /** Number of visitor messages that no agent has read */
  unreadCount: number;
  /** ISO 8601, UTC, with milliseconds */
  lastMessageAt: string | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
  /** Environment of the visitor */
  environment: 'live' | 'test';
  /** Who answers: the AI agent or people; null while unowned */
  owner: 'ai' | 'person' | null;
  /** ISO 8601, UTC, with milliseconds */
  snoozedUntil: string | null;
  /** `seq` of the newest message */
  lastSeq: number;
  /** `position` of the newest message or note */
  lastPosition: number;
  /** Newest message; null without messages */
  lastMessage: {
    /** First 200 characters of the text */
    content: string;
    /** Type of the sender, as in messages */
    senderType: string;
    /** ISO 8601, UTC, with milliseconds */
    createdAt: string;
  } | null;
  /** Display name, email address or external id of the visitor; null for an anonymous one */
  visitorName: string | null;
  /** Whether a token of the workspace identified the visitor; an email address does not */
  visitorVerified: boolean;
  /** `seq` up to which the visitor has read */
  visitorReadSeq: number;
  /** `seq` up to which an agent has read */
  agentReadSeq: number;
}

export interface InboxConversationDetail {
  /** Id of the conversation */
  id: string;
  /** Title for agents, at most 200 characters */
  name: string;
  /** Source of the conversation, such as `api` or `Mobile App`; at most 100 characters */
  source: string;
  /** A message of the visitor reopens `pending` and `resolved`; a `closed` conversation stays closed */
  status: 'open' | 'pending' | 'resolved' | 'closed';
  /** Urgency, as set by agents, keys or workflows */
  priority: 'low' | 'normal' | 'high' | 'urgent';
  /** Assigned member; null without one */
  assignedUserId: string | null;
  /** Visitor of the conversation; null without one */
  visitorId: string | null;
  /** Number of visitor messages that no agent has read */
  unreadCount: number;
  /** ISO 8601, UTC, with milliseconds */
  lastMessageAt: string | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
  /** Environment of the visitor */
  environment: 'live' | 'test';
  /** Who answers: the AI agent or people; null while unowned */
  owner: 'ai' | 'person' | null;
  /** ISO 8601, UTC, with milliseconds */
  snoozedUntil: string | null;
  /** `seq` of the newest message */
  lastSeq: number;
  /** `position` of the newest message or note */
  lastPosition: number;
  /** Newest message; null without messages */
  lastMessage: {
    /** First 200 characters of the text */
    content: string;
    /** Type of the sender, as in messages */
    senderType: string;
    /** ISO 8601, UTC, with milliseconds */
    createdAt: string;
  } | null;
  /** Display name, email address or external id of the visitor; null for an anonymous one */
  visitorName: string | null;
  /** Whether a token of the workspace identified the visitor; an email address does not */
  visitorVerified: boolean;
  /** `seq` up to which the visitor has read */
  visitorReadSeq: number;
  /** `seq` up to which an agent has read */
  agentReadSeq: number;
  /** Visitor of the conversation; null without one */
  visitor: InboxVisitor | null;
  /** Your draft; null without one */
  draft: ChatDraft | null;
  /** Rating after the last closing; null without one */
  rating: ChatRating | null;
  /** Ids of the members who view the conversation now */
  viewers: string[];
}

export interface InboxConversationPage {
  /** Rows of this page, at most `meta.limit` */
  data: InboxConversation[];
  meta: PageMeta;
}

export interface InboxCounts {
  /** All conversations, of every status */
  all: number;
  /** Open and pending conversations that are assigned to you, without snoozed ones */
  mine: number;
  /** Open and pending conversations without an assigned member, without snoozed ones */
  unassigned: number;
  /** Open conversations, without snoozed ones */
  open: number;
  /** Pending conversations, without snoozed ones */
  pending: number;
  /** Open and pending conversations that are snoozed now */
  snoozed: number;
  /** Resolved conversations */
  resolved: number;
  /** Closed conversations */
  closed: number;
  /** Conversations with messages that no agent has read */
  unread: number;
}

export interface InboxHit {
  message: InboxMessage;
  /** Title of the conversation */
  conversationName: string;
  /** Matches in `message.content`, at most the first 100, in UTF-16 units */
  highlights: {
    /** Index of the first UTF-16 unit, from 0 */
    start: number;
    /** Index after the last UTF-16 unit */
    end: number;
  }[];
}

export interface InboxHitPage {
  /** Rows of this page, at most `meta.limit` */
  data: InboxHit[];
  meta: PageMeta;
}

/** A message or a private note, as agents see it */
export interface InboxMessage {
  /** Id of the message */
  id: string;
  /** Conversation of the message */
  conversationId: string;
  /** Number of the message in the conversation; null for a private note */
  seq: number | null;
  /** Text of the message, at most 10,000 characters; empty if only files were sent */
  content: string;
  /** `visitor` and `agent` are people, `api` is an API key or a workflow, `ai` the AI agent, `system` the hub */
  senderType: 'visitor' | 'agent' | 'api' | 'ai' | 'system';
  /** Id of the visitor, member or API key; null for other senders */
  senderId: string | null;
  /** Display name of the agent who wrote it; null for other senders, without a display name, and for a former member */
  senderName: string | null;
  /** Path of the picture of the agent who wrote it, relative to the URL of this hub; requires no credentials. Null for other senders and without a picture. */
  senderPicture: string | null;
  /** Files of the message, at most 5 */
  attachments: ChatAttachment[];
  /** The sender's own id of the message; a repeated id is stored once. Null without one */
  clientId: string | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** Position in the conversation, counting messages and notes */
  position: number;
  /** Whether it is a private note, which visitors never see */
  private: boolean;
  /** Knowledge entries that the AI agent used for its answer */
  sources: ChatMessageSource[];
  /** Tools that the AI agent called for its answer, in order */
  tools: ChatAiToolUse[];
}

export interface InboxMessagePage {
  /** Rows of this page, at most `meta.limit` */
  data: InboxMessage[];
  meta: PageMeta;
}

export interface InboxRating {
  /** Id of the rating */
  id: string;
  /** Conversation that was rated */
  conversationId: string;
  /** Score from 1 (worst) to 5 (best) */
  score: number;
  /** Comment, at most 2,000 characters; may be empty */
  comment: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
}

export interface InboxRatingPage {
  /** Rows of this page, at most `meta.limit` */
  data: InboxRating[];
  meta: PageMeta;
}

export interface InboxVisitor {
  /** Id of the visitor */
  id: string;
  /** Name of the visitor, at most 200 characters; null when it is not known */
  display_name: string | null;
  /** Email address; null when it is not known. It is not verified */
  email: string | null;
  /** Phone number, at most 40 characters; null when it is not known */
  phone: string | null;
  /** Your own stable id of the visitor, at most 200 characters; null for an anonymous visitor */
  external_id: string | null;
  /** Your own fields; at most 50 keys and 16 KiB */
  attributes: JsonObject;
  /** ISO 8601, UTC, with milliseconds */
  created_at: string;
  /** ISO 8601, UTC, with milliseconds */
  last_seen_at: string | null;
  /** Whether a token of your server named the visitor (`external_id`) */
  verified: boolean;
  /** When an agent blocked the visitor; null while not blocked */
  blocked_at: string | null;
  /** IP address of the last visit; the last part is removed unless `keepAddresses` is set */
  last_address: string | null;
}

export interface InboxVisitorDetail {
  /** Id of the visitor */
  id: string;
  /** Name of the visitor, at most 200 characters; null when it is not known */
  display_name: string | null;
  /** Email address; null when it is not known. It is not verified */
  email: string | null;
  /** Phone number, at most 40 characters; null when it is not known */
  phone: string | null;
  /** Your own stable id of the visitor, at most 200 characters; null for an anonymous visitor */
  external_id: string | null;
  /** Your own fields; at most 50 keys and 16 KiB */
  attributes: JsonObject;
  /** ISO 8601, UTC, with milliseconds */
  created_at: string;
  /** ISO 8601, UTC, with milliseconds */
  last_seen_at: string | null;
  /** Whether a token of your server named the visitor (`external_id`) */
  verified: boolean;
  /** When an agent blocked the visitor; null while not blocked */
  blocked_at: string | null;
  /** IP address of the last visit; the last part is removed unless `keepAddresses` is set */
  last_address: string | null;
  /** Newest 20 conversations */
  conversations: InboxConversation[];
}

export interface InboxVisitorPage {
  /** Rows of this page, at most `meta.limit` */
  data: InboxVisitor[];
  meta: PageMeta;
}

export interface IntervalSchedule {
  /** Fires at a fixed interval */
  kind: 'interval';
  /** Seconds from one run to the next, 1 to 31,536,000 (one year) */
  everySeconds: number;
  /** IANA time zone of the schedule, such as `Europe/Berlin` */
  timezone: string;
  /** What happens to scheduled times that passed while the hub was down. A time that is missed by at most 10 seconds always starts a run */
  onMissed: 'skip' | 'last' | 'all';
  /** With `onMissed: all`: maximum number of missed times that start a run, the latest ones. Times missed by at most 10 seconds do not count */
  maxCatchUp: number;
  /** What happens when the schedule fires while a run of the workflow is in progress */
  overlap: 'allow' | 'skip' | 'queue';
  /** Maximum random delay of each run, in seconds */
  jitterSeconds: number;
}

export interface IntervalScheduleInput {
  /** Fires at a fixed interval */
  kind: 'interval';
  /** Seconds from one run to the next, 1 to 31,536,000 (one year) */
  everySeconds: number;
  /** IANA time zone of the schedule, such as `Europe/Berlin` */
  timezone?: string;
  /** What happens to scheduled times that passed while the hub was down. A time that is missed by at most 10 seconds always starts a run */
  onMissed?: 'skip' | 'last' | 'all';
  /** With `onMissed: all`: maximum number of missed times that start a run, the latest ones. Times missed by at most 10 seconds do not count */
  maxCatchUp?: number;
  /** What happens when the schedule fires while a run of the workflow is in progress */
  overlap?: 'allow' | 'skip' | 'queue';
  /** Maximum random delay of each run, in seconds */
  jitterSeconds?: number;
}

export interface Invitation {
  /** Id of the invitation */
  id: string;
  /** Email address with which the new member will sign in */
  email: string;
  /** Role of the new member */
  role: 'admin' | 'agent';
  /** Id of the admin who invited */
  invitedBy: string;
  /** ISO 8601, UTC, with milliseconds */
  expiresAt: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
}

export interface InvitationPage {
  /** Rows of this page, at most `meta.limit` */
  data: Invitation[];
  meta: PageMeta;
}

export interface InviteMember {
  /** Email address with which the member signs in, stored in lower case */
  email: string;
  /** Role of the new member */
  role?: 'admin' | 'agent';
}

export interface Knowledge {
  /** Entries, sorted by id */
  entries: KnowledgeEntry[];
  /** Text that is part of every prompt, at most 20,000 characters; may be empty */
  terms: string;
  /** Embeddings, which complement the search by words */
  embeddings: {
    /** `off`: the hub has no embedding model; `failing`: the embedding model does not respond and is retried */
    state: 'off' | 'pending' | 'ready' | 'failing';
    /** Number of entries with an embedding */
    done: number;
    /** Number of entries */
    total: number;
  };
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string | null;
}

export interface KnowledgeEntry {
  /** Unique among the entries, at most 100 characters */
  id: string;
  /** Question that the entry answers, at most 1,000 characters */
  question: string;
  /** Answer, at most 20,000 characters */
  answer: string;
  /** Page on which visitors can read more; null without one */
  url: string | null;
  /** Language code, such as `de` or `pt-BR`; null for any language */
  locale: string | null;
}

export interface KnowledgePassage {
  /** Id of the entry */
  id: string;
  /** Question that the entry answers */
  question: string;
  /** Answer of the entry */
  answer: string;
  /** Page on which visitors can read more; null without one */
  url: string | null;
  /** Language code of the entry; null for any language */
  locale: string | null;
  /** Relevance to the question, 0 to 1 */
  score: number;
}

export interface KnowledgePassages {
  /** Matching entries, best first; at most `limit` */
  passages: KnowledgePassage[];
}

/** Percentiles in milliseconds, accurate to 10 %; null without values */
export interface Latency {
  /** Median */
  p50: number | null;
  /** 95 % of the values are at most this */
  p95: number | null;
  /** 99 % of the values are at most this */
  p99: number | null;
}

export interface LogLine {
  /** Id of the line */
  id: string;
  /** Run that wrote it */
  runId: string;
  /** Workflow of the run; null when it was deleted */
  workflowId: string | null;
  /** Index of the step that wrote the line, from 0 */
  stepIndex: number;
  /** Severity */
  level: 'debug' | 'info' | 'warn' | 'error';
  /** Text of the line */
  message: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
}

export interface LogLinePage {
  /** Rows of this page, at most `meta.limit` */
  data: LogLine[];
  meta: PageMeta;
}

export interface LogStep {
  /** Writes a line to the log of the run */
  type: 'log';
  /** Text of the line, at most 10,000 characters; may contain `{{…}}` templates */
  message: string;
  /** Severity of the line */
  level: 'debug' | 'info' | 'warn' | 'error';
  /** Id of the step; later steps refer to it as `{{steps.<id>.output}}` */
  id?: string;
  /** Display name, at most 200 characters */
  name?: string;
  /** Template; the step is skipped unless it renders to a truthy value */
  when?: string;
  /** Whether the run continues when the step fails after all attempts; default false */
  continueOnError?: boolean;
  /** Retry policy; the policy of the skill when omitted */
  retry?: {
    /** Attempts in total, 1 to 10 */
    maxAttempts: number;
    /** Seconds before the second attempt */
    backoffSeconds: number;
    /** Multiplier of each further wait */
    factor: number;
  };
  /** Seconds to wait before the step starts; the wait occupies no worker */
  delaySeconds?: number;
  /** Timeout of each attempt, in seconds */
  timeoutSeconds?: number;
}

export interface LogStepInput {
  /** Writes a line to the log of the run */
  type: 'log';
  /** Text of the line, at most 10,000 characters; may contain `{{…}}` templates */
  message: string;
  /** Severity of the line */
  level?: 'debug' | 'info' | 'warn' | 'error';
  /** Id of the step; later steps refer to it as `{{steps.<id>.output}}` */
  id?: string;
  /** Display name, at most 200 characters */
  name?: string;
  /** Template; the step is skipped unless it renders to a truthy value */
  when?: string;
  /** Whether the run continues when the step fails after all attempts; default false */
  continueOnError?: boolean;
  /** Retry policy; the policy of the skill when omitted */
  retry?: {
    /** Attempts in total, 1 to 10 */
    maxAttempts: number;
    /** Seconds before the second attempt */
    backoffSeconds?: number;
    /** Multiplier of each further wait */
    factor?: number;
  };
  /** Seconds to wait before the step starts; the wait occupies no worker */
  delaySeconds?: number;
  /** Timeout of each attempt, in seconds */
  timeoutSeconds?: number;
}

export interface ManualTrigger {
  /** Version of the trigger format; 1 is the only one */
  schemaVersion: 1;
  /** Starts only by the API, the dashboard or another run */
  type: 'manual';
}

export interface ManualTriggerInput {
  /** Version of the trigger format; 1 is the only one */
  schemaVersion?: 1;
  /** Starts only by the API, the dashboard or another run */
  type: 'manual';
}

export interface Member {
  /** Id of the member */
  id: string;
  /** Email address with which the member signs in; visitors never see it */
  email: string;
  /** `admin` manages the workspace; `agent` works in it */
  role: 'admin' | 'agent';
  /** Name that visitors see; with null, visitors see a neutral word */
  displayName: string | null;
  /** Path of the picture, relative to the URL of this hub; requires no credentials. Null without a picture. A new picture has a new path. */
  picture: string | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** Last sign-in; for admins only. Null when there was none in the last six months or since the password was set. */
  lastSignInAt?: string | null;
}

export interface MemberPage {
  /** Rows of this page, at most `meta.limit` */
  data: Member[];
  meta: PageMeta;
}

export interface MemberPicture {
  /** Id of the member */
  userId: string;
  /** Path of the picture, relative to the URL of this hub; requires no credentials */
  picture: string;
  /** `image/png`, `image/jpeg` or `image/webp` */
  contentType: string;
  /** Size of the stored picture, in bytes */
  bytes: number;
  /** Width in pixels */
  width: number;
  /** Height in pixels */
  height: number;
}

/** The member who is signed in */
export interface MemberProfile {
  /** Id of the member */
  id: string;
  /** Email address with which the member signs in; visitors never see it */
  email: string;
  /** `admin` manages the workspace; `agent` works in it */
  role: 'admin' | 'agent';
  /** Name that visitors see; with null, visitors see a neutral word */
  displayName: string | null;
  /** Path of the picture, relative to the URL of this hub; requires no credentials. Null without a picture. A new picture has a new path. */
  picture: string | null;
  /** How the dashboard behaves for this member */
  preferences: Preferences;
  /** Whether the member can sign in with a password; false for an account that only sign-in links open */
  hasPassword: boolean;
}

export interface MemoryEntry {
  /** Unique in the workspace, or in the session of the entry; at most 200 characters */
  key: string;
  /** Any JSON value, at most 65,536 characters as JSON */
  value: JsonValue;
  /** Session that the entry belongs to; null for the memory of the workspace */
  sessionId: string | null;
  /** ISO 8601, UTC, with milliseconds */
  expiresAt: string | null;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
}

export interface MemoryEntryPage {
  /** Rows of this page, at most `meta.limit` */
  data: MemoryEntry[];
  meta: PageMeta;
}

/** Whether calls of a model succeed */
export interface ModelHealth {
  /** `failing`: calls of the last minute failed; `paused`: its circuit breaker is open, so it is skipped; otherwise `healthy` */
  state: 'healthy' | 'failing' | 'paused';
  /** When the first recent call failed, or when the circuit breaker opened; null for a healthy model */
  since: string | null;
  /** For a paused model, the time from which one call tries it again; otherwise null */
  retryAt: string | null;
  /** Whether a call or a test of the workspace was answered in about the last 24 hours with the present provider, address, name and key. A call that was under way when they changed does not count. A `healthy` model without an answer has not shown that it works */
  answered: boolean;
}

export interface ModelPrices {
  /** Price of one million input tokens, in millionths of the currency: 1250000 for 1.25 */
  inputMicros: number;
  /** Price of one million output tokens, in millionths of the currency: 1250000 for 1.25 */
  outputMicros: number;
  /** Currency code of ISO 4217, such as `USD` */
  currency: string;
}

export interface ModelPricesInput {
  /** Price of one million input tokens, in millionths of the currency: 1250000 for 1.25 */
  inputMicros: number;
  /** Price of one million output tokens, in millionths of the currency: 1250000 for 1.25 */
  outputMicros: number;
  /** Currency code of ISO 4217, such as `USD` */
  currency: string;
}

export interface ModelTest {
  /** Whether the model answered */
  answered: boolean;
  /** Name of the model at its provider */
  model: string;
  /** Stable word for the result: `answered`, `http_401`, `connect_refused` and the like */
  outcome: string;
  /** Time until the answer or the failure, in milliseconds */
  latencyMs: number;
  /** What the provider said about the failure, without secrets; null if it said nothing */
  detail: string | null;
}

export interface Models {
  /** Models of the workspace, at most 20 */
  models: {
    /** Your own name for the model, unique in the workspace; at most 100 characters */
    id: string;
    /** Protocol of the provider */
    provider: 'openai-compatible' | 'openai' | 'anthropic';
    /** Name of the model at the provider */
    model: string;
    /** URL of the API; null for the default URL of the provider */
    baseUrl: string | null;
    /** Whether an API key is stored; the key is never returned */
    apiKeySet: boolean;
    /** Prices of its tokens; null when none are set */
    prices: ModelPrices | null;
    health: ModelHealth;
  }[];
  /** Ids of models in failover order */
  order: string[];
  /** The hub's own model, used while `order` is empty; null when not used */
  fallback: {
    /** Name of the model at its provider */
    model: string;
    /** Prices of its tokens; null when none are set */
    prices: ModelPrices | null;
    /** Whether calls of this model succeed, in all workspaces of the hub */
    health: ModelHealth;
  } | null;
  /** Version, increased by each change; 0 until models are first set */
  version: number;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string | null;
}

export interface NewInvitation {
  /** Id of the invitation */
  id: string;
  /** Email address with which the new member will sign in */
  email: string;
  /** Role of the new member */
  role: 'admin' | 'agent';
  /** Id of the admin who invited */
  invitedBy: string;
  /** ISO 8601, UTC, with milliseconds */
  expiresAt: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** The link. Anyone who has it can join the workspace */
  url: string;
}

export interface Node {
  /** Id of the node */
  id: string;
  /** Name, unique among the paired nodes of the workspace; steps can select the node by name */
  name: string;
  /** Tags; steps can select a node by one of its tags */
  tags: string[];
  /** `pending` until the companion connects for the first time after pairing */
  status: 'pending' | 'online' | 'offline' | 'revoked';
  /** Whether the workspace allows `system.*` commands on the node */
  allowSystem: boolean;
  /** Whether the workspace allows `browser.*` commands on the node */
  allowBrowser: boolean;
  /** What the device reports about itself; null before it was paired */
  device: DeviceInfo | null;
  /** Device information from the last heartbeat, such as memory and disks; null before the first heartbeat */
  facts: DeviceFacts | null;
  /** Whether the owner of the device paused it, so that it refuses every command */
  paused: boolean;
  /** The last entry of the device's own log; null until the device reports one */
  audit: {
    /** Number of entries in the log */
    entries: number;
    /** SHA-256 of the last entry, which includes the hash of the previous entry */
    hash: string;
    /** When the device first reported a truncated, changed or restarted log; null if never. It is never cleared: a later report cannot prove that nothing was removed */
    brokenAt: string | null;
  } | null;
  /** ISO 8601, UTC, with milliseconds */
  pairedAt: string | null;
  /** ISO 8601, UTC, with milliseconds */
  lastSeenAt: string | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
}

export interface NodeCommand {
  /** Id of the command */
  id: string;
  /** Type of the command, such as `node.ping` */
  type: string;
  /** `leased`: the device has it; `withdrawn`: the run no longer needs it */
  status: 'pending' | 'leased' | 'succeeded' | 'failed' | 'withdrawn';
  /** Run that sent the command */
  runId: string;
  /** Index of the step that sent it, from 0 */
  stepIndex: number;
  /** Attempt of the step that sent it, from 1 */
  attempt: number;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  handedOutAt: string | null;
  /** ISO 8601, UTC, with milliseconds */
  finishedAt: string | null;
  /** Why the command failed; null unless it failed */
  error: {
    /** Stable code, for programs */
    code: string;
    /** Human-readable message: what went wrong */
    message: string;
  } | null;
}

export interface NodeCommandPage {
  /** Rows of this page, at most `meta.limit` */
  data: NodeCommand[];
  meta: PageMeta;
}

export interface NodeEvent {
  /** A companion node changed */
  type: 'node';
  /** Time of the event */
  at: string;
  /** Id of the node */
  id: string;
  /** Name of the node */
  name: string;
  /** Status of the node after the change */
  status: 'online' | 'offline' | 'pending' | 'revoked';
  /** Kind of the change; `changed`: its tags or what the workspace allows on it */
  change: 'created' | 'paired' | 'online' | 'offline' | 'renamed' | 'changed' | 'revoked';
}

/** What a node reported, from one time on */
export interface NodeFacts {
  /** What the device reported about itself; null before it was paired */
  device: {
    /** Host name of the device */
    name: string;
    /** Platform as Node.js names it: `linux`, `darwin` or `win32` */
    platform: string;
    /** Processor architecture as Node.js names it, such as `x64` or `arm64` */
    arch: string;
    /** Version of the operating system; may be empty */
    osVersion: string;
    /** Version of the companion */
    appVersion: string;
    /** Command types that the device can execute now */
    capabilities: string[];
  } | null;
  /** Whether the owner of the device had paused it */
  paused: boolean;
  /** Whether the workspace allowed `system.*` commands */
  allowSystem: boolean;
  /** Whether the workspace allowed `browser.*` commands */
  allowBrowser: boolean;
  /** Processor; null when it was not known */
  cpu: {
    /** Model of the processor */
    model: string;
    /** Logical cores */
    cores: number;
  } | null;
  /** Main memory; null when it was not known */
  memory: {
    /** Installed memory, in bytes */
    totalBytes: number;
  } | null;
  /** Mounted file systems */
  disks: {
    /** Mount point or drive, such as `/` or `C:` */
    mount: string;
    /** Capacity, in bytes */
    totalBytes: number;
    /** Used space, 0 to 100, in steps of about 10 */
    usedPercent: number;
  }[];
  /** Battery; null for a device without one */
  battery: {
    /** Charge, 0 to 100, in steps of about 10 */
    percent: number;
    /** Whether the battery was being charged */
    charging: boolean;
  } | null;
  /** Displays */
  displays: {
    /** Index of the display, from 0 */
    index: number;
    /** Name of the display; may be empty */
    name: string;
    /** Width in pixels */
    width: number;
    /** Height in pixels */
    height: number;
  }[];
}

export interface NodeFactsEntry {
  /** Id of the entry */
  id: string;
  /** ISO 8601, UTC, with milliseconds */
  at: string;
  facts: NodeFacts;
}

export interface NodeFactsEntryPage {
  /** Rows of this page, at most `meta.limit` */
  data: NodeFactsEntry[];
  meta: PageMeta;
}

export interface NodePage {
  /** Rows of this page, at most `meta.limit` */
  data: Node[];
  meta: PageMeta;
}

export interface Onboarding {
  /** Whether every step is done */
  complete: boolean;
  /** Setup steps, in the recommended order */
  steps: {
    /** Stable name of the step */
    id: string;
    /** What to do, in a few words */
    title: string;
    /** Whether the step is done */
    done: boolean;
    /** Why the step is useful */
    why: string;
    /** Request that does the step */
    request: {
      /** HTTP method */
      method: string;
      /** Path, relative to the URL of the hub */
      path: string;
      /** Example of the JSON body; null for a request without one */
      body: JsonObject | null;
    };
  }[];
  /** Id of the first step that is not done; null when all are done */
  next: string | null;
  /** Resources of the workspace */
  counts: {
    /** Number of workflows */
    workflows: number;
    /** Number of companion nodes that are connected now */
    nodesOnline: number;
    /** Number of paired companion nodes */
    nodes: number;
    /** Number of configured models */
    models: number;
    /** Number of channels */
    channels: number;
    /** Number of AI agents */
    agents: number;
    /** Number of installed packs */
    packs: number;
    /** Whether any run has succeeded */
    runsSucceeded: boolean;
  };
}

export interface OnceSchedule {
  /** Fires once */
  kind: 'at';
  /** The only time at which the schedule fires */
  at: string;
  /** IANA time zone of the schedule, such as `Europe/Berlin` */
  timezone: string;
  /** What happens to scheduled times that passed while the hub was down. A time that is missed by at most 10 seconds always starts a run */
  onMissed: 'skip' | 'last' | 'all';
  /** With `onMissed: all`: maximum number of missed times that start a run, the latest ones. Times missed by at most 10 seconds do not count */
  maxCatchUp: number;
  /** What happens when the schedule fires while a run of the workflow is in progress */
  overlap: 'allow' | 'skip' | 'queue';
  /** Maximum random delay of each run, in seconds */
  jitterSeconds: number;
}

export interface OnceScheduleInput {
  /** Fires once */
  kind: 'at';
  /** The only time at which the schedule fires */
  at: string;
  /** IANA time zone of the schedule, such as `Europe/Berlin` */
  timezone?: string;
  /** What happens to scheduled times that passed while the hub was down. A time that is missed by at most 10 seconds always starts a run */
  onMissed?: 'skip' | 'last' | 'all';
  /** With `onMissed: all`: maximum number of missed times that start a run, the latest ones. Times missed by at most 10 seconds do not count */
  maxCatchUp?: number;
  /** What happens when the schedule fires while a run of the workflow is in progress */
  overlap?: 'allow' | 'skip' | 'queue';
  /** Maximum random delay of each run, in seconds */
  jitterSeconds?: number;
}

export interface OutgoingMessage {
  /** Id of the entry */
  id: string;
  /** Run that sent it; null when no run did */
  runId: string | null;
  /** Workflow of the run; null when no run sent it */
  workflowId: string | null;
  /** Index of the step that sent it, from 0; null when no run sent it */
  stepIndex: number | null;
  /** `webhook`, `email`, `campaign` or the provider of a channel */
  channel: string;
  /** URL, email address or id at the provider */
  recipient: string;
  /** `simulated`: not sent, because the run is a test run */
  status: 'delivered' | 'simulated' | 'failed';
  /** Details of the message, such as its subject; the fields depend on `channel` */
  summary: JsonObject;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
}

export interface OutgoingMessagePage {
  /** Rows of this page, at most `meta.limit` */
  data: OutgoingMessage[];
  meta: PageMeta;
}

export interface OwnSession {
  /** Id of the session */
  id: string;
  /** `User-Agent` of the sign-in, at most 300 characters; null without one */
  client: string | null;
  /** Whether this request belongs to the session */
  isCurrent: boolean;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  expiresAt: string;
}

export interface OwnSessionPage {
  /** Rows of this page, at most `meta.limit` */
  data: OwnSession[];
  meta: PageMeta;
}

export interface OwnToken {
  /** Id of the workspace */
  tenantId: string;
  /** Name of the workspace */
  workspaceName: string;
  /** Id of the key */
  tokenId: string;
  /** Product whose API the key can call */
  product: 'chat' | 'ai' | 'automations' | 'voice';
  /** Live Chat: `test` keys see and change only test visitors and conversations. Automations: `test` keys share the data of the workspace. Their runs are test runs, whose mails, channel messages and webhooks are recorded as simulated and not sent. They cannot change live workflows, live runs and their approvals, or what live runs use (sequences, agents, tool profiles, channels, nodes, models, the policy, live sessions, installed packs). Node commands and model calls are real in both environments */
  environment: 'live' | 'test';
  /** Permissions of the key */
  permissions: ('chat:write' | 'chat:read' | 'visitors:read' | 'webhooks:manage' | 'ai:invoke' | 'ai:speak' | 'ai:voice' | 'knowledge:manage' | 'usage:read' | 'automations:manage' | 'automations:read' | 'automations:run' | 'approvals:decide' | 'voice:read' | 'voice:export' | 'connections:manage')[];
  /** ISO 8601, UTC, with milliseconds */
  expiresAt: string | null;
}

export interface OwnTrunk {
  /** Always `own`: a trunk of the workspace */
  mode: 'own';
  /** `registering`: in progress. `registered`: the carrier accepted. `rejected`: the carrier refused, see `lastCode` and `lastReason`. `unreachable`: no SIP response. `stopped`: the carrier refused this password three times; the hub tries again only after `POST /sip/register` */
  state: 'registering' | 'registered' | 'rejected' | 'unreachable' | 'stopped';
  /** Host name of the carrier, such as `sip.example.com`, or its IP address */
  host: string;
  /** Port; null if DNS determines it */
  port: number | null;
  /** Account at the carrier */
  username: string;
  /** Transport of SIP to the carrier; `tls` also checks the certificate */
  transport: 'udp' | 'tcp' | 'tls';
  /** Whether the registration is active */
  registered: boolean;
  /** SIP status of the last attempt; null without a SIP response */
  lastCode: number | null;
  /** Reason phrase of the carrier. Without a SIP response: `timeout`, `refused`, `tls_name`, `tls_untrusted`, `dns`, or `address_refused` (the host resolves to a private address). When stopped: `credentials_rejected`, or `password_unreadable` (the password was encrypted with another SECRET_KEY). `challenge_not_supported` and `nonce_always_stale`: the challenge cannot be answered. `registration_not_kept`: the carrier accepted with an expiry of 0 */
  lastReason: string | null;
  /** When the registration expires unless it is renewed */
  expiresAt: string | null;
  /** Time of the next attempt; null when none is planned */
  nextAttemptAt: string | null;
  /** When the last attempt ended */
  checkedAt: string | null;
}

/** A pack of the catalog */
export interface Pack {
  /** Lower-case words joined by hyphens, at most 100 characters */
  id: string;
  /** Display name, at most 200 characters */
  name: string;
  /** Three numbers such as `1.0.0` */
  version: string;
  /** Publisher of the pack, at most 200 characters */
  publisher: string;
  /** Human-readable summary of what the pack does */
  summary: string;
  /** Inputs of a workflow of the pack, as a subset of JSON Schema */
  inputsSchema: {
    /** Always `object` */
    type: 'object';
    /** Inputs by name */
    properties: JsonObject;
    /** Names of the inputs that must be given, at most 50 */
    required: string[];
  };
  /** Every skill that the graph uses */
  skills: string[];
  /** Hosts that the pack calls or opens: a name, with a port unless it is the default port, or `inputs.<name>` for the host of an input of format `uri` */
  hosts: string[];
  /** Names of inputs that contain a secret */
  secrets: string[];
  /** What the pack does on companion nodes */
  nodePowers: ('ping' | 'screen' | 'camera' | 'audio' | 'files' | 'browser' | 'system')[];
  /** Trigger and steps of workflows of the pack */
  graph: {
    /** As `triggerJson` of a workflow; `{{inputs.<name>}}` inserts an input */
    trigger: JsonObject;
    /** As `stepsJson` of a workflow; a step with `ifInput` is omitted when that input is empty */
    steps: JsonObject[];
  };
  /** `shipped`: part of the hub; `hub`: published by the operator for all workspaces; `published`: published by this workspace */
  source: 'shipped' | 'hub' | 'published';
  /** Version that this workspace has installed; null when it is not installed */
  installedVersion: string | null;
}

export interface PackDetail {
  /** Lower-case words joined by hyphens, at most 100 characters */
  id: string;
  /** Display name, at most 200 characters */
  name: string;
  /** Three numbers such as `1.0.0` */
  version: string;
  /** Publisher of the pack, at most 200 characters */
  publisher: string;
  /** Human-readable summary of what the pack does */
  summary: string;
  /** Inputs of a workflow of the pack, as a subset of JSON Schema */
  inputsSchema: {
    /** Always `object` */
    type: 'object';
    /** Inputs by name */
    properties: JsonObject;
    /** Names of the inputs that must be given, at most 50 */
    required: string[];
  };
  /** Every skill that the graph uses */
  skills: string[];
  /** Hosts that the pack calls or opens: a name, with a port unless it is the default port, or `inputs.<name>` for the host of an input of format `uri` */
  hosts: string[];
  /** Names of inputs that contain a secret */
  secrets: string[];
  /** What the pack does on companion nodes */
  nodePowers: ('ping' | 'screen' | 'camera' | 'audio' | 'files' | 'browser' | 'system')[];
  /** Trigger and steps of workflows of the pack */
  graph: {
    /** As `triggerJson` of a workflow; `{{inputs.<name>}}` inserts an input */
    trigger: JsonObject;
    /** As `stepsJson` of a workflow; a step with `ifInput` is omitted when that input is empty */
    steps: JsonObject[];
  };
  /** `shipped`: part of the hub; `hub`: published by the operator for all workspaces; `published`: published by this workspace */
  source: 'shipped' | 'hub' | 'published';
  /** Version that this workspace has installed; null when it is not installed */
  installedVersion: string | null;
  /** What the pack may do; null for a pack that this hub refuses to install */
  grants: PackGrants | null;
  /** Versions of the pack, newest first */
  versions: {
    /** Version of the pack */
    version: string;
    /** Whether the operator withdrew it, so that it cannot be installed any more */
    withdrawn: boolean;
  }[];
}

/** What a pack may do */
export interface PackGrants {
  /** Skills that the pack calls */
  skills: {
    /** Id of the skill in the catalog */
    id: string;
    /** Display name of the skill */
    title: string;
    /** Human-readable description of the effect of the skill */
    effect: string;
  }[];
  /** Hosts that the pack calls or opens */
  hosts: string[];
  /** Names of inputs that contain a secret */
  secrets: string[];
  /** What the pack does on companion nodes */
  nodePowers: ('ping' | 'screen' | 'camera' | 'audio' | 'files' | 'browser' | 'system')[];
  /** Whether each run requires an approval */
  approvals: boolean;
}

export interface PackPage {
  /** Rows of this page, at most `meta.limit` */
  data: Pack[];
  meta: PageMeta;
}

/** Position of this page in the list */
export interface PageMeta {
  /** Rows per page that this request used, 1 to 100 */
  limit: number;
  /** Send it as `cursor` to read the next page; null on the last page */
  nextCursor: string | null;
}

export interface PasswordReset {
  /** Always true */
  changed: true;
}

export interface PasswordResetRequested {
  /** Always true: it does not show whether the account exists */
  requested: true;
}

export interface Policy {
  /** Instructions that are added to the prompt of every agent */
  standingOrders: string;
  /** Runs do not start within quiet hours; they wait for the end */
  quietHours: QuietHours | null;
  /** Maximum number of runs that start per hour; further runs wait; null for no limit */
  maxRunsPerHour: number | null;
  /** Skills that require an approval; `*` matches any part of a name */
  approvalsRequiredFor: string[];
  /** Email addresses of the approvers for steps that name none, including `system.run`. Each must be a member of the workspace, also at the time of the decision. Applies to new approvals */
  defaultApprovers: JsonValue[];
  /** Whether step approvals without named approvers follow the rules of `system.run` approvals: only a signed-in user or a key with `approvals:decide` can decide, and no starter or author of the run */
  stepApprovalsNeedPerson: boolean;
  /** Whether the only member of a workspace may decide approvals of commands that they wrote or started. Requires a signed-in user, not an API key */
  soleMemberMayDecideOwnRuns: boolean;
  /** Workflow that runs when another run fails; null for none. Its payload is `{ "run": { "id", "workflowId", "attempt", "trigger", "error": { "code", "message" } } }`; steps read `{{payload.run.id}}`. A failed run of the error workflow itself starts no other run */
  errorWorkflowId: string | null;
  /** Retention of ended runs; null for the retention of the installation */
  retention: Retention | null;
  /** Version, increased by each change; 0 until the policy is first set */
  version: number;
  /** Null until the policy is first set */
  updatedAt: string | null;
}

export interface Preferences {
  /** Language of the dashboard; null takes that of the browser */
  language: 'en' | 'de' | 'ar' | null;
  /** Whether Enter sends a reply in the inbox; otherwise Ctrl+Enter does */
  enterSends: boolean;
}

export interface PushState {
  /** VAPID public key of this hub, as `applicationServerKey` of `PushManager.subscribe`; base64url */
  publicKey: string;
  /** Your subscribed browsers, newest first */
  subscriptions: PushSubscription[];
}

export interface PushSubscription {
  /** Id of the subscription */
  id: string;
  /** `User-Agent` of the browser, at most 300 characters; null without one */
  client: string | null;
  /** When the browser was subscribed */
  createdAt: string;
  /** When the browser renewed the subscription, which ends 60 days after this time */
  renewedAt: string;
  /** Since when the push service has refused every message; null when it accepted the last one */
  refusedSince: string | null;
  /** Whether the hub sends nothing more, because the push service has refused every message for 3 days */
  isStopped: boolean;
}

export interface PutAiBudget {
  /** Input and output tokens per UTC day; null for no limit */
  dailyTokens: number | null;
  /** Cost per UTC day of models with prices in this currency; null for no limit */
  dailyCost: {
    /** Currency code of ISO 4217, such as `USD` */
    currency: string;
    /** Amount in millionths of the currency */
    micros: number;
  } | null;
  /** Seconds of transcribed audio per UTC day; null for the limit of the hub, which is also the maximum; unchanged when omitted */
  dailySpeechSeconds?: number | null;
  /** Characters of synthesized speech per UTC day; null for the limit of the hub, which is also the maximum; unchanged when omitted */
  dailySpeechCharacters?: number | null;
}

export interface PutChannel {
  /** Updates this channel; creates a new one when omitted */
  id?: string;
  /** Service that carries the messages; cannot be changed later */
  provider: 'telegram' | 'slack' | 'whatsapp' | 'webhook' | 'email';
  /** Display name, 1 to 200 characters */
  name: string;
  /** By provider. telegram: botToken, inboundSecret. slack: botToken, signingSecret. whatsapp: accessToken, phoneNumberId, appSecret, verifyToken. webhook: inboundSecret, url?, signingSecret?. email: inboundSecret, senderName?, replyTo?. An update without config keeps it. In a given config, an omitted apiBaseUrl or secret keeps its value, with two exceptions: with a new apiBaseUrl, the token must be sent again; without url, its signingSecret is removed */
  config?: Record<string, unknown>;
  /** Alias of config; send one of the two */
  config_json?: Record<string, unknown>;
  /** Whether the channel accepts and sends messages. When omitted, true for a new channel, unchanged in an update */
  active?: boolean;
  /** With true, an inbound message opens or continues a Live Chat conversation of its sender, and replies in it are sent through the channel. Requires the entitlement conversations_suite. When omitted, false for a new channel, unchanged in an update */
  conversations?: boolean;
}

export interface PutKnowledge {
  /** Replaces all entries; at most 5,000 */
  entries: {
    /** Id of the entry, unique; answers list it as a source */
    id: string;
    /** Question that the entry answers, 1 to 1,000 characters */
    question: string;
    /** Answer, 1 to 20,000 characters */
    answer: string;
    /** Page on which visitors can read more */
    url?: string | null;
    /** Language code, such as de or pt-BR */
    locale?: string | null;
  }[];
  /** Text that is part of every prompt, such as terms of business */
  terms: string;
}

export interface PutModels {
  /** Replaces all models; at most 20 */
  models: {
    /** Your own name for the model, unique in the workspace; at most 100 characters */
    id: string;
    /** Protocol of the provider */
    provider: 'openai-compatible' | 'openai' | 'anthropic';
    /** Name of the model at the provider */
    model: string;
    /** Base URL of the API; required for `openai-compatible` */
    baseUrl?: string;
    /** API key; write-only. When omitted, the stored key of the same provider and baseUrl is kept */
    apiKey?: string;
    /** Prices of its tokens; without prices, tokens are counted but no cost */
    prices?: ModelPricesInput;
  }[];
  /** Ids of models in failover order */
  order: string[];
}

export interface PutPolicy {
  /** Instructions that are added to the prompt of every agent */
  standingOrders?: string;
  /** Runs do not start within quiet hours; they wait for the end */
  quietHours?: QuietHoursInput | null;
  /** Maximum number of runs that start per hour; further runs wait; null for no limit */
  maxRunsPerHour?: number | null;
  /** Skills that require an approval; `*` matches any part of a name */
  approvalsRequiredFor?: string[];
  /** Email addresses of the approvers for steps that name none, including `system.run`. Each must be a member of the workspace, also at the time of the decision. Applies to new approvals */
  defaultApprovers?: string[];
  /** Whether step approvals without named approvers follow the rules of `system.run` approvals: only a signed-in user or a key with `approvals:decide` can decide, and no starter or author of the run */
  stepApprovalsNeedPerson?: boolean;
  /** Whether the only member of a workspace may decide approvals of commands that they wrote or started. Requires a signed-in user, not an API key */
  soleMemberMayDecideOwnRuns?: boolean;
  /** Workflow that runs when another run fails; null for none. Its payload is `{ "run": { "id", "workflowId", "attempt", "trigger", "error": { "code", "message" } } }`; steps read `{{payload.run.id}}`. A failed run of the error workflow itself starts no other run */
  errorWorkflowId?: string | null;
  /** Retention of ended runs; null for the retention of the installation */
  retention?: RetentionInput | null;
}

export interface PutToolProfile {
  /** Updates this profile; creates a new one when omitted */
  id?: string;
  /** Display name, 1 to 200 characters */
  name: string;
  /** Ids or patterns of skills that may be called; `*` matches any part of a name */
  allow: string[];
  /** Ids or patterns of skills that may not be called; takes precedence over `allow` */
  deny?: string[];
}

export interface QuietHours {
  /** Local time of the start, `HH:MM` */
  from: string;
  /** Local time of the end, `HH:MM`; on the next day when earlier than `from` */
  to: string;
  /** IANA time zone of `from` and `to`, such as `Europe/Berlin` */
  timezone: string;
  /** Days of the week on which quiet hours start, 0 for Sunday; every day when omitted */
  days?: number[];
}

export interface QuietHoursInput {
  /** Local time of the start, `HH:MM` */
  from: string;
  /** Local time of the end, `HH:MM`; on the next day when earlier than `from` */
  to: string;
  /** IANA time zone of `from` and `to`, such as `Europe/Berlin` */
  timezone?: string;
  /** Days of the week on which quiet hours start, 0 for Sunday; every day when omitted */
  days?: number[];
}

export interface ReadyEvent {
  /** The stream is open; later events are sent */
  type: 'ready';
  /** Time of the event */
  at: string;
}

export interface RegisterOwnTrunk {
  /** Host name or IP address of the carrier, without a port; at most 253 characters */
  host: string;
  /** Port; when omitted, from SRV records of the host, otherwise 5060, or 5061 for `tls` */
  port?: number;
  /** Account at the carrier, at most 128 characters of printable ASCII */
  username: string;
  /** Password; write-only. Optional if `host` and `username` do not change and `tls` is not disabled */
  password?: string;
  /** Transport of SIP; `tls` verifies the certificate and its name */
  transport?: 'udp' | 'tcp' | 'tls';
}

export interface RemovedMember {
  /** Id of the deleted resource */
  id: string;
  /** Always true; a failure is an error response */
  deleted: true;
  /** Valid keys that the member created */
  keys: {
    /** Id of the key */
    id: string;
    /** Display name, at most 200 characters */
    name: string;
    /** Product whose API the key can call */
    product: 'chat' | 'ai' | 'automations' | 'voice';
    /** Live Chat: `test` keys see and change only test visitors and conversations. Automations: `test` keys share the data of the workspace. Their runs are test runs, whose mails, channel messages and webhooks are recorded as simulated and not sent. They cannot change live workflows, live runs and their approvals, or what live runs use (sequences, agents, tool profiles, channels, nodes, models, the policy, live sessions, installed packs). Node commands and model calls are real in both environments */
    environment: 'live' | 'test';
    /** Permissions of the key */
    permissions: ('chat:write' | 'chat:read' | 'visitors:read' | 'webhooks:manage' | 'ai:invoke' | 'ai:speak' | 'ai:voice' | 'knowledge:manage' | 'usage:read' | 'automations:manage' | 'automations:read' | 'automations:run' | 'approvals:decide' | 'voice:read' | 'voice:export' | 'connections:manage')[];
    /** Visible part of the key, without its secret */
    keyHint: string;
    /** CIDR blocks or addresses from which the key is accepted; any address when empty */
    ipAllowlist: string[];
    /** ISO 8601, UTC, with milliseconds */
    expiresAt: string | null;
    /** ISO 8601, UTC, with milliseconds */
    lastUsedAt: string | null;
    /** ISO 8601, UTC, with milliseconds */
    createdAt: string;
    /** Whether this request revoked the key */
    revoked: boolean;
  }[];
}

export interface RenameWorkspace {
  /** New name, 1 to 200 characters; unique on the hub */
  name: string;
}

export interface RenewPushSubscription {
  /** https URL of the push service, from `PushSubscription.endpoint` */
  endpoint: string;
  /** Keys with which messages are encrypted, from `PushSubscription.toJSON()` */
  keys: {
    /** Public key of the browser: an uncompressed point on the curve P-256, base64url */
    p256dh: string;
    /** Authentication secret of the browser: 16 bytes, base64url */
    auth: string;
  };
  /** Endpoint that `endpoint` replaces, if it has changed */
  previousEndpoint?: string;
}

export interface RequestPasswordReset {
  /** Email address with which the user signs in */
  email: string;
}

export interface ResetEvent {
  /** Events are missing; read the lists again */
  type: 'reset';
  /** Time of the event */
  at: string;
  /** Human-readable explanation of why events are missing */
  message: string;
}

export interface ResetPassword {
  /** The `token` in the address of the mailed link */
  token: string;
  /** The new password, with at least 12 characters */
  password: string;
}

export interface Retention {
  /** Days for which ended runs are kept, 1 to 3,650; no limit by age when omitted */
  maxAgeDays?: number;
  /** Number of ended runs to keep, the newest; no limit by number when omitted */
  maxRuns?: number;
}

export interface RetentionInput {
  /** Days for which ended runs are kept, 1 to 3,650; no limit by age when omitted */
  maxAgeDays?: number;
  /** Number of ended runs to keep, the newest; no limit by number when omitted */
  maxRuns?: number;
}

export interface RetryRuns {
  /** Runs by id, 1 to 100; give either `ids` or `filter` */
  ids?: string[];
  /** Selects the newest runs that match; give either `ids` or `filter`. It takes the filters of the list of runs. Runs in a status that `status` does not accept are never selected */
  filter?: {
    /** Only runs in this status; in all of these statuses when omitted */
    status?: 'failed' | 'cancelled';
    /** Only runs in one of these statuses, separated by commas */
    statuses?: string;
    /** Only runs of this workflow */
    workflowId?: string;
    /** Queued at this time or later */
    from?: string;
    /** Queued before this time */
    to?: string;
    /** Only runs that a step of this run started */
    parentRunId?: string;
    /** Only runs whose id starts with these characters, 4 to 36 */
    idPrefix?: string;
    /** Only runs with this type of trigger, such as `manual` or `schedule` */
    triggerType?: string;
    /** Only runs of this environment */
    environment?: 'live' | 'test';
    /** Only runs that sent a command to this node */
    nodeId?: string;
    /** With `true`, only the latest run of each flow: runs that were retried or replayed are left out */
    latest?: 'true' | 'false';
    /** Only failed runs with this error code */
    errorCode?: string;
    /** `next` of the previous response */
    olderThan?: string;
  };
  /** With a filter: maximum number of runs in this request, the newest first */
  limit?: number;
}

export interface RevokedLinks {
  /** Number of deleted links and sessions */
  revoked: number;
}

export interface Run {
  /** Id of the run */
  id: string;
  /** Workflow that the run executes */
  workflowId: string;
  /** Current name of the workflow */
  workflowName: string;
  /** Version of the workflow that the run executes, from 1 */
  workflowVersion: number;
  /** Flow that the run and its retries share */
  flowId: string;
  /** `waiting_approval` until a person decides; `succeeded`, `failed` and `cancelled` are final unless the run is retried */
  status: 'queued' | 'running' | 'waiting_approval' | 'succeeded' | 'failed' | 'cancelled';
  /** Why the run waits; null while a worker executes it or is about to, and after it has ended */
  waitsFor: RunWait | null;
  /** What started the run; fields besides `type` depend on the type. A retry and a replay keep the trigger of the first attempt; `ranAgainBy` is the caller, such as `user:<id>` or `token:<id>` */
  trigger: {
    /** Type of the trigger, such as `manual`, `schedule`, `webhook`, `event` or `channel` */
    type: string;
  };
  /** Number of the attempt within its flow, from 1; each retry adds one */
  attempt: number;
  /** Environment of the key or trigger that started the run; `test` runs send no messages */
  environment: 'live' | 'test';
  /** Run whose step started this run and waits for it; null without one */
  parentRunId: string | null;
  /** Number of ancestor runs: each was started by the one before */
  depth: number;
  /** Why the run failed; null unless it failed */
  error: Failure | null;
  /** ISO 8601, UTC, with milliseconds */
  queuedAt: string;
  /** ISO 8601, UTC, with milliseconds */
  startedAt: string | null;
  /** ISO 8601, UTC, with milliseconds */
  finishedAt: string | null;
  /** Free text given at the start, at most 100,000 characters; null without one */
  context: string | null;
  /** Input of the run as JSON; null without one */
  payload: JsonObject | null;
  /** One entry for each step, in the order of the workflow */
  stepsResultJson: StepResult[];
}

export interface RunArtifact {
  /** Id of the artifact */
  id: string;
  /** File name that the node gave it */
  name: string;
  /** Media type that the node declared */
  contentType: string;
  /** Size in bytes */
  bytes: number;
  /** Width in pixels, as the node reported it; null when it reported none */
  width: number | null;
  /** Height in pixels, as the node reported it; null when it reported none */
  height: number | null;
  /** Index of the step whose command brought it, from 0 */
  stepIndex: number;
  /** Node that sent it */
  nodeId: string;
  /** Command whose result contained it */
  commandId: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
}

export interface RunArtifactPage {
  /** Rows of this page, at most `meta.limit` */
  data: RunArtifact[];
  meta: PageMeta;
}

export interface RunEstimate {
  /** Number of runs that match */
  count: number;
  /** Whether the number was counted; false for an estimate */
  isExact: boolean;
}

export interface RunEvent {
  /** A run changed */
  type: 'run';
  /** Time of the event */
  at: string;
  /** Id of the run */
  id: string;
  /** Workflow of the run */
  workflowId: string;
  /** Status of the run after the change */
  status: 'queued' | 'running' | 'waiting_approval' | 'succeeded' | 'failed' | 'cancelled';
  /** `code` of the error; null without one */
  errorCode: string | null;
  /** ISO 8601, UTC, with milliseconds */
  startedAt: string | null;
  /** ISO 8601, UTC, with milliseconds */
  finishedAt: string | null;
}

export interface RunInput {
  /** Free text for the steps, at most 100,000 characters */
  context?: string;
  /** Input of the run; steps read it as `{{payload.…}}` */
  payload?: Record<string, unknown>;
}

export interface RunSummary {
  /** Id of the run */
  id: string;
  /** Workflow that the run executes */
  workflowId: string;
  /** Current name of the workflow */
  workflowName: string;
  /** Version of the workflow that the run executes, from 1 */
  workflowVersion: number;
  /** Flow that the run and its retries share */
  flowId: string;
  /** `waiting_approval` until a person decides; `succeeded`, `failed` and `cancelled` are final unless the run is retried */
  status: 'queued' | 'running' | 'waiting_approval' | 'succeeded' | 'failed' | 'cancelled';
  /** Why the run waits; null while a worker executes it or is about to, and after it has ended */
  waitsFor: RunWait | null;
  /** What started the run; fields besides `type` depend on the type. A retry and a replay keep the trigger of the first attempt; `ranAgainBy` is the caller, such as `user:<id>` or `token:<id>` */
  trigger: {
    /** Type of the trigger, such as `manual`, `schedule`, `webhook`, `event` or `channel` */
    type: string;
  };
  /** Number of the attempt within its flow, from 1; each retry adds one */
  attempt: number;
  /** Environment of the key or trigger that started the run; `test` runs send no messages */
  environment: 'live' | 'test';
  /** Run whose step started this run and waits for it; null without one */
  parentRunId: string | null;
  /** Number of ancestor runs: each was started by the one before */
  depth: number;
  /** Why the run failed; null unless it failed */
  error: Failure | null;
  /** ISO 8601, UTC, with milliseconds */
  queuedAt: string;
  /** ISO 8601, UTC, with milliseconds */
  startedAt: string | null;
  /** ISO 8601, UTC, with milliseconds */
  finishedAt: string | null;
}

export interface RunSummaryPage {
  /** Rows of this page, at most `meta.limit` */
  data: RunSummary[];
  meta: PageMeta;
}

export type RunWait = RunWaitForLimit | RunWaitForQuietHours | RunWaitForJitter | RunWaitForNode | RunWaitForApproval | RunWaitForRun | RunWaitForDelay | RunWaitForRetry;

export interface RunWaitForApproval {
  /** A step waits for a decision */
  kind: 'approval';
  /** Index of the step that waits, from 0 */
  stepIndex: number;
  /** Approval that must be decided */
  approvalId: string;
  /** When the approval expires; null if it does not */
  until: string | null;
}

export interface RunWaitForDelay {
  /** A step waits for its `delaySeconds` */
  kind: 'delay';
  /** Index of the step that waits, from 0 */
  stepIndex: number;
  /** ISO 8601, UTC, with milliseconds */
  until: string;
}

export interface RunWaitForJitter {
  /** The run waits for the random delay of its schedule */
  kind: 'jitter';
  /** When the run starts */
  until: string;
}

export interface RunWaitForLimit {
  /** The run waits for a concurrency or rate limit */
  kind: 'limit';
  /** Limit that is reached; `earlier_runs`: the run is queued behind another run of its workflow */
  limit: 'earlier_runs' | 'max_concurrent_runs' | 'max_runs_per_minute' | 'max_runs_per_hour';
  /** When the limit allows the run; null when that depends on other runs */
  until: string | null;
}

export interface RunWaitForNode {
  /** A step waits for a companion node */
  kind: 'node_command';
  /** Index of the step that waits, from 0 */
  stepIndex: number;
  /** Command that the node must complete */
  commandId: string;
  /** Node that the command is for */
  nodeId: string;
  /** Current name of the node */
  nodeName: string;
  /** Whether the node is online */
  nodeOnline: boolean;
  /** Whether the node has leased the command; otherwise the command is pending */
  handedOut: boolean;
  /** Whether the node has leased the command and waits until the owner of its machine allows it */
  waitsForOwner: boolean;
  /** Deadline for the node to lease the command, or, once leased, to complete it */
  until: string;
}

export interface RunWaitForQuietHours {
  /** The run waits for the end of the quiet hours of the policy */
  kind: 'quiet_hours';
  /** End of the quiet hours; null when an earlier run of the workflow goes first */
  until: string | null;
}

export interface RunWaitForRetry {
  /** A step waits before its next attempt */
  kind: 'retry';
  /** Index of the step that waits, from 0 */
  stepIndex: number;
  /** ISO 8601, UTC, with milliseconds */
  until: string;
}

export interface RunWaitForRun {
  /** A step waits for a run that it started */
  kind: 'run';
  /** Index of the step that waits, from 0 */
  stepIndex: number;
  /** Run that the step waits for */
  runId: string;
}

export interface SaveFilter {
  /** Page of the dashboard whose list the filter is for, such as `/app/runs` */
  path: string;
  /** Name of the filter, 1 to 60 characters; unique for the page */
  name: string;
  /** Query of the page that the filter opens, without `?`, such as `status=failed&period=24h` */
  query: string;
}

export interface SavedFilter {
  /** Id of the filter */
  id: string;
  /** Page of the dashboard whose list the filter is for */
  path: string;
  /** Name of the filter */
  name: string;
  /** Query of the page that the filter opens, without `?` */
  query: string;
  /** When the filter was first saved */
  createdAt: string;
}

export interface SavedFilters {
  /** Your filters, at most 50 */
  filters: SavedFilter[];
}

/** When a workflow starts by itself; `kind` selects the format */
export type Schedule = IntervalSchedule | CronSchedule | OnceSchedule;

/** When a workflow starts by itself; `kind` selects the format */
export type ScheduleInput = IntervalScheduleInput | CronScheduleInput | OnceScheduleInput;

export interface ScheduleTrigger {
  /** Version of the trigger format; 1 is the only one */
  schemaVersion: 1;
  /** Starts at the times of a schedule */
  type: 'schedule';
  schedule: Schedule;
}

export interface ScheduleTriggerInput {
  /** Version of the trigger format; 1 is the only one */
  schemaVersion?: 1;
  /** Starts at the times of a schedule */
  type: 'schedule';
  schedule: ScheduleInput;
}

export interface SearchResult {
  /** What was found */
  type: 'workflow' | 'sequence' | 'agent' | 'node' | 'channel' | 'run' | 'approval';
  /** Id of what was found */
  id: string;
  /** Name; of a run the name of its workflow, of an approval its question */
  title: string;
  /** Status of a run or approval, provider of a channel; null for other types */
  detail: string | null;
}

export interface SearchResults {
  /** Results by type, in the order of the types */
  data: SearchResult[];
}

export interface Sequence {
  /** Id of the sequence */
  id: string;
  /** Display name, at most 200 characters */
  name: string;
  /** Steps in the order in which they run; each can wait `delaySeconds` before it starts */
  steps: Step[];
  /** Workflow that executes the sequence; null before its first run */
  workflowId: string | null;
  /** Version, from 1; each change increases it */
  version: number;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
}

export interface SequenceEvent {
  /** A sequence changed */
  type: 'sequence';
  /** Time of the event */
  at: string;
  /** Who changed it, as in the audit log: `user:<id>`, `token:<id>` or another actor, such as `platform` */
  by: string;
  /** Id of the sequence */
  id: string;
  /** Kind of the change */
  change: 'created' | 'updated' | 'deleted';
}

export interface SequencePage {
  /** Rows of this page, at most `meta.limit` */
  data: Sequence[];
  meta: PageMeta;
}

export interface Session {
  /** Id of the session */
  id: string;
  /** Subject of the session: a person, a group, a run, a channel or the workspace */
  scope: 'dm' | 'group' | 'run' | 'channel' | 'workspace';
  /** Unique together with `scope` and `environment`, at most 200 characters */
  key: string;
  /** `test` when a test key created it. Test keys and test runs do not write to `live` sessions */
  environment: 'live' | 'test';
  /** Title to show, at most 200 characters; may be empty */
  title: string;
  /** Summary of the older part of the transcript */
  memorySummary: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
}

export interface SessionMessage {
  /** Id of the message */
  id: string;
  /** Author of the message, as in model APIs */
  role: 'user' | 'assistant' | 'system';
  /** Text of the message, at most 20,000 characters */
  content: string;
  /** Run that wrote the message; null for other authors */
  runId: string | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
}

export interface SessionPage {
  /** Rows of this page, at most `meta.limit` */
  data: Session[];
  meta: PageMeta;
}

export interface SessionWithTranscript {
  /** Id of the session */
  id: string;
  /** Subject of the session: a person, a group, a run, a channel or the workspace */
  scope: 'dm' | 'group' | 'run' | 'channel' | 'workspace';
  /** Unique together with `scope` and `environment`, at most 200 characters */
  key: string;
  /** `test` when a test key created it. Test keys and test runs do not write to `live` sessions */
  environment: 'live' | 'test';
  /** Title to show, at most 200 characters; may be empty */
  title: string;
  /** Summary of the older part of the transcript */
  memorySummary: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
  /** One page of the messages */
  transcript: {
    /** Messages, oldest first */
    data: SessionMessage[];
    meta: PageMeta;
  };
}

export interface SettingsEvent {
  /** A setting of the workspace changed. Members receive it if they can read the setting */
  type: 'settings';
  /** Time of the event */
  at: string;
  /** Who changed it, as in the audit log: `user:<id>`, `token:<id>` or another actor, such as `platform` */
  by: string;
  /** The setting that changed; read it again */
  setting: 'policy' | 'models' | 'tool_profiles' | 'chat' | 'chat_ai' | 'knowledge' | 'ai_budget' | 'members' | 'invitations' | 'tokens' | 'origins' | 'entitlements' | 'workspace' | 'call_connections' | 'sip';
}

export interface SignedIn {
  /** The workspace JWT */
  token: string;
  /** ISO 8601, UTC, with milliseconds */
  expiresAt: string;
  /** Id of the workspace */
  tenantId: string;
  /** Member who is signed in */
  user: {
    /** Id of the member */
    id: string;
    /** Email address with which the member signs in */
    email: string;
    /** `admin` manages the workspace; `agent` works in it */
    role: 'admin' | 'agent';
  };
}

export interface SipCredentials {
  /** SIP account of the workspace at `domain` */
  username: string;
  /** Password, returned only once */
  password: string;
}

export interface Skill {
  /** Stable id, used as `skillId` in steps */
  id: string;
  /** Display name of the skill */
  title: string;
  /** Human-readable summary of what the skill does and requires */
  summary: string;
  /** Entitlements that the workspace must have */
  requires: string[];
  /** Human-readable description of the effect of the skill */
  effect: string;
  /** The same as `effect`, for programs and translations. `reaches_out_safely`: a repetition is harmless */
  effectType: 'starts_run' | 'changes_node' | 'reads_node' | 'reads_workspace' | 'changes_workspace' | 'reaches_out_safely' | 'reaches_out_once';
  /** Whether each use requires an approval in this workspace: always, or by its current policy */
  needsApproval: boolean;
  /** JSON Schema of its input */
  input: JsonObject;
  /** JSON Schema of its output; later versions may add fields */
  output: JsonObject;
}

export interface SkillStep {
  /** Calls a skill */
  type: 'skill';
  /** Id of the skill in the catalog, such as `memory.write` */
  skillId: string;
  /** Input of the skill; texts may contain `{{…}}` templates */
  input: JsonObject;
  /** Id of the step; later steps refer to it as `{{steps.<id>.output}}` */
  id?: string;
  /** Display name, at most 200 characters */
  name?: string;
  /** Template; the step is skipped unless it renders to a truthy value */
  when?: string;
  /** Whether the run continues when the step fails after all attempts; default false */
  continueOnError?: boolean;
  /** Retry policy; the policy of the skill when omitted */
  retry?: {
    /** Attempts in total, 1 to 10 */
    maxAttempts: number;
    /** Seconds before the second attempt */
    backoffSeconds: number;
    /** Multiplier of each further wait */
    factor: number;
  };
  /** Seconds to wait before the step starts; the wait occupies no worker */
  delaySeconds?: number;
  /** Timeout of each attempt, in seconds */
  timeoutSeconds?: number;
}

export interface SkillStepInput {
  /** Calls a skill */
  type: 'skill';
  /** Id of the skill in the catalog, such as `memory.write` */
  skillId: string;
  /** Input of the skill; texts may contain `{{…}}` templates */
  input?: Record<string, unknown>;
  /** Id of the step; later steps refer to it as `{{steps.<id>.output}}` */
  id?: string;
  /** Display name, at most 200 characters */
  name?: string;
  /** Template; the step is skipped unless it renders to a truthy value */
  when?: string;
  /** Whether the run continues when the step fails after all attempts; default false */
  continueOnError?: boolean;
  /** Retry policy; the policy of the skill when omitted */
  retry?: {
    /** Attempts in total, 1 to 10 */
    maxAttempts: number;
    /** Seconds before the second attempt */
    backoffSeconds?: number;
    /** Multiplier of each further wait */
    factor?: number;
  };
  /** Seconds to wait before the step starts; the wait occupies no worker */
  delaySeconds?: number;
  /** Timeout of each attempt, in seconds */
  timeoutSeconds?: number;
}

/** Metrics of runs, nodes, deliveries and models in a window */
export interface Slo {
  /** Length of the window, which ends now */
  window: '1h' | '24h' | '7d' | '30d';
  /** ISO 8601, UTC, with milliseconds */
  from: string;
  /** ISO 8601, UTC, with milliseconds */
  to: string;
  /** Runs that ended within the window */
  runs: {
    /** Runs that ended in the window */
    total: number;
    /** Runs that succeeded */
    succeeded: number;
    /** Runs that failed */
    failed: number;
    /** Runs that were cancelled */
    cancelled: number;
    /** Share of succeeded among succeeded and failed runs, 0 to 1; null without any */
    successRate: number | null;
  };
  /** Durations of runs, in milliseconds */
  latencyMs: {
    /** From acceptance to the start */
    queue: Latency;
    /** From the start to the end */
    run: Latency;
  };
  /** Companion nodes */
  nodes: {
    /** Nodes that are connected now */
    online: number;
    /** Paired nodes */
    total: number;
    /** From the lease of a command to its result */
    commandLatencyMs: Latency;
  };
  /** Messages that runs sent to URLs in the window */
  webhooks: {
    /** Messages that the URL accepted */
    delivered: number;
    /** Messages that were not delivered */
    failed: number;
  };
  /** Models that were called, most used first, at most 50. Counted by full hours, including the whole first hour of the window */
  models: {
    /** Id of a model of the workspace; null for the hub's own model */
    modelId: string | null;
    /** Name of the model at its provider */
    model: string;
    /** Number of calls; each attempt counts */
    calls: number;
    /** Number of calls by outcome, such as `answered`, `timeout`, `http_429` and `aborted` */
    outcomes: JsonObject;
    /** Latency of answered calls, to the end of the answer */
    latencyMs: Latency;
    /** Tokens that were sent to the model */
    inputTokens: number;
    /** Tokens that the model wrote */
    outputTokens: number;
    /** Costs by currency, if prices are set */
    costs: {
      /** Currency code of ISO 4217, such as `USD` */
      currency: string;
      /** Cost in millionths of the currency */
      micros: number;
    }[];
    /** Current state of the circuit breaker; `open`: the model is not called, because it failed too often */
    breaker: 'closed' | 'open' | 'half_open';
  }[];
}

export interface Speak {
  /** Words of the caller, at most 4,000 code points; empty for a greeting */
  text?: string;
  /** Language of the answer (BCP 47); the language of the text when omitted */
  locale?: string;
  /** Whether no person of the business is listening */
  automaticAgent?: boolean;
  /** Facts for the answer, at most 24,000 code points; quoted as data */
  context?: string;
  /** Accepted and ignored */
  sessionId?: string;
}

export interface Spoken {
  /** Text of the answer, for speech output */
  text: string;
  /** Always true: the answer is complete */
  done: true;
}

export interface StartedRun {
  /** Id of the run that was started */
  runId: string;
  /** Status of the run at the time of the response */
  status: 'queued' | 'running' | 'waiting_approval' | 'succeeded' | 'failed' | 'cancelled';
}

export type Step = SkillStep | LogStep | ApprovalStep | AgentStep | DeliverStep;

export interface StepApproval {
  /** Id of the approval */
  id: string;
  /** `pending` until it is decided or expires */
  status: 'pending' | 'approved' | 'rejected' | 'expired';
  /** Who or what decided; null while pending */
  decider: ApprovalDecider | null;
  /** ISO 8601, UTC, with milliseconds */
  decidedAt: string | null;
  /** Reason given with the decision; null without one */
  note: string | null;
}

export interface StepAttempt {
  /** Number of the attempt, from 1 */
  attempt: number;
  /** Null if an earlier release executed the attempt */
  startedAt: string | null;
  /** Null while the attempt is in progress, and if an earlier release executed it */
  finishedAt: string | null;
  /** Why the attempt failed; null otherwise */
  error: {
    /** Stable code, for programs */
    code: string;
    /** Human-readable message, at most 500 characters */
    message: string;
  } | null;
  /** Ids of its node commands in `commands`, oldest first */
  commandIds: string[];
}

export interface StepCommand {
  /** Id of the command */
  id: string;
  /** Node that executes the command */
  nodeId: string;
  /** Type of the command, such as `node.ping` */
  type: string;
  /** Attempt of the step that sent the command, from 1 */
  attempt: number;
  /** `leased`: the device has it; `withdrawn`: the run no longer needs it */
  status: 'pending' | 'leased' | 'succeeded' | 'failed' | 'withdrawn';
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  finishedAt: string | null;
  /** Why the command failed; null unless it failed */
  error: {
    /** Stable code, for programs */
    code: string;
    /** Human-readable message: what went wrong */
    message: string;
  } | null;
}

export interface StepEvent {
  /** A step of a run changed */
  type: 'step';
  /** Time of the event */
  at: string;
  /** Run of the step */
  runId: string;
  /** Position of the step, from 0 */
  index: number;
  /** Status of the step after the change */
  status: 'pending' | 'running' | 'succeeded' | 'failed' | 'skipped' | 'waiting_approval';
  /** Attempts so far, including the first */
  attempts: number;
  /** `code` of the error; null without one */
  errorCode: string | null;
}

export type StepInput = SkillStepInput | LogStepInput | ApprovalStepInput | AgentStepInput | DeliverStepInput;

export interface StepResult {
  /** Position of the step in the workflow, from 0 */
  index: number;
  /** `id` of the step in the workflow; null without one */
  id: string | null;
  /** Display name of the step; null without one */
  name: string | null;
  /** Type of the step: `skill`, `log`, `approval`, `agent` or `deliver` */
  type: string;
  /** Skill that the step calls; null for other types of steps */
  skillId: string | null;
  /** `skipped` when its `when` was false; `waiting_approval` until a person decides */
  status: 'pending' | 'running' | 'succeeded' | 'failed' | 'skipped' | 'waiting_approval';
  /** Condition of the step, as a template; null without one */
  when: string | null;
  /** Retry policy of the step; null when the policy of its skill applies */
  retry: {
    /** Attempts in total, 1 to 10 */
    maxAttempts: number;
    /** Seconds before the second attempt */
    backoffSeconds: number;
    /** Multiplier of each further wait */
    factor: number;
  } | null;
  /** Timeout of each attempt, in seconds; null when the step sets none */
  timeoutSeconds: number | null;
  /** Attempts so far, including the first */
  attempts: number;
  /** One entry for each attempt so far, the first one first: its times, its error and its node commands */
  attemptHistory: StepAttempt[];
  /** ISO 8601, UTC, with milliseconds */
  startedAt: string | null;
  /** ISO 8601, UTC, with milliseconds */
  finishedAt: string | null;
  /** Input of the last attempt, with templates resolved: the input of the skill, the title and message of an approval, or the prompt of an agent. Null before the first attempt and when `inputOmitted` is true */
  input: JsonObject | null;
  /** Whether `input` is omitted because it exceeds 65,536 bytes as JSON or nests too deeply */
  inputOmitted: boolean;
  /** Output of the step as JSON; null until it has one */
  output: JsonObject | null;
  /** Output of the step as text; null until it has one */
  outputText: string | null;
  /** Size of `output` and `outputText` in bytes, also when `include` omits them; 0 without output */
  outputBytes: number;
  /** Turns of an agent step so far, oldest first, with texts cut. A single step always has them. A run and its events have them only with `turns` in `include`, and only for a step that has not finished. Null otherwise */
  turns: AgentTurn[] | null;
  /** Why the last attempt failed; null otherwise */
  error: Failure | null;
  /** Latest approval that the step requested in this run; null without one */
  approval: StepApproval | null;
  /** Newest run that the step started and waits for or waited for; null without one */
  childRunId: string | null;
  /** Node commands of all attempts, oldest first, including those of an earlier run whose result is kept; the newest 1,000 of a run */
  commands: StepCommand[];
  /** Artifacts of its node commands, oldest first, including those of failed attempts and of an earlier run whose result is kept; the newest 1,000 of a run */
  artifactIds: string[];
}

export interface ToolProfile {
  /** Id of the tool profile */
  id: string;
  /** Display name, at most 200 characters */
  name: string;
  /** Ids or patterns of skills that may be called; `*` matches any part of a name */
  allow: string[];
  /** Ids or patterns of skills that may not be called; takes precedence over `allow` */
  deny: string[];
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
}

export interface ToolProfilePage {
  /** Rows of this page, at most `meta.limit` */
  data: ToolProfile[];
  meta: PageMeta;
}

/** What starts a workflow; `type` selects the kind */
export type Trigger = ManualTrigger | ScheduleTrigger | HeartbeatTrigger | EventTrigger | WebhookTrigger | ChannelTrigger;

/** What starts a workflow; `type` selects the kind */
export type TriggerInput = ManualTriggerInput | ScheduleTriggerInput | HeartbeatTriggerInput | EventTriggerInput | WebhookTriggerInput | ChannelTriggerInput;

export interface UnansweredQuestion {
  /** Id of the question */
  id: string;
  /** Question, as last asked */
  question: string;
  /** How often it was asked, ignoring case, accents and punctuation */
  count: number;
  /** ISO 8601, UTC, with milliseconds */
  firstAskedAt: string;
  /** ISO 8601, UTC, with milliseconds */
  lastAskedAt: string;
}

export interface UnansweredQuestionPage {
  /** Rows of this page, at most `meta.limit` */
  data: UnansweredQuestion[];
  meta: PageMeta;
}

export interface UpdateAgent {
  /** Display name, 1 to 200 characters */
  name?: string;
  /** Instructions for the model, at most 50,000 characters */
  systemPrompt?: string;
  /** Tool profile with the skills that the agent may call; null for none */
  toolProfileId?: string | null;
  /** Keys that route inbound messages to this agent, at most 50 */
  routeKeys?: string[];
  /** Id of a model of the workspace; null for the failover order */
  model?: string | null;
}

export interface UpdateProfile {
  /** Name that visitors and colleagues see instead of your email address; null removes it */
  displayName?: string | null;
  /** The preferences to change; others stay as they are */
  preferences?: {
    /** Language of the dashboard; null takes that of the browser */
    language?: 'en' | 'de' | 'ar' | null;
    /** Whether Enter sends a reply in the inbox; otherwise Ctrl+Enter does */
    enterSends?: boolean;
  };
}

export interface UpdateSequence {
  /** Display name, 1 to 200 characters */
  name?: string;
  /** Replaces all steps; 1 to 200 */
  steps?: StepInput[];
}

export interface UploadState {
  /** Name of the artifact, unique in its command */
  name: string;
  /** Bytes that the hub has received: the offset of the next part */
  received: number;
  /** Size of the whole artifact; null before the first part */
  bytes: number | null;
  /** Whether all bytes arrived and match the checksum, so that a result can list the artifact in `uploads` */
  complete: boolean;
}

export interface UsageEvent {
  /** Id of the event */
  id: string;
  /** `chat.session`: a chat session was created. `ai.run`: a run of the AI agent succeeded */
  kind: 'chat.session' | 'ai.run';
  /** Id of the conversation (`chat.session`) or of the AI run (`ai.run`) */
  subjectId: string;
  /** Environment of the API key that was used */
  environment: 'live' | 'test';
  /** When the event was recorded */
  createdAt: string;
}

export interface UsageEventPage {
  /** Rows of this page, at most `meta.limit` */
  data: UsageEvent[];
  meta: PageMeta;
}

export interface UsageTotals {
  /** First day, UTC */
  from: string;
  /** Last day, UTC; included */
  to: string;
  /** Totals by day, newest first, kind and environment; totals of 0 are omitted */
  days: {
    /** Day in UTC, `YYYY-MM-DD` */
    day: string;
    /** Kind of the events */
    kind: 'chat.session' | 'ai.run';
    /** Environment of the events */
    environment: 'live' | 'test';
    /** Number of events */
    count: number;
  }[];
  /** Totals of each calendar month that has a day of the period, also of its other days; newest first. Totals of 0 are omitted */
  months: {
    /** Calendar month in UTC, `YYYY-MM` */
    month: string;
    /** Kind of the events */
    kind: 'chat.session' | 'ai.run';
    /** Environment of the events */
    environment: 'live' | 'test';
    /** Number of events */
    count: number;
  }[];
}

export interface Visitor {
  /** Id of the visitor */
  id: string;
  /** Name of the visitor, at most 200 characters; null when it is not known */
  display_name: string | null;
  /** Email address; null when it is not known. It is not verified */
  email: string | null;
  /** Phone number, at most 40 characters; null when it is not known */
  phone: string | null;
  /** Your own stable id of the visitor, at most 200 characters; null for an anonymous visitor */
  external_id: string | null;
  /** Your own fields; at most 50 keys and 16 KiB */
  attributes: JsonObject;
  /** ISO 8601, UTC, with milliseconds */
  created_at: string;
  /** ISO 8601, UTC, with milliseconds */
  last_seen_at: string | null;
}

/** A conversation as its visitor sees it */
export interface VisitorConversation {
  /** Id of the conversation */
  id: string;
  /** A message of the visitor reopens `pending` and `resolved`; a `closed` conversation stays closed */
  status: 'open' | 'pending' | 'resolved' | 'closed';
  /** `seq` of the newest message; 0 without messages */
  lastSeq: number;
  /** `seq` up to which the visitor has read */
  visitorReadSeq: number;
  /** `seq` up to which an agent has read */
  agentReadSeq: number;
  /** Display name of the assigned agent; null without an assignee or a display name */
  agentName: string | null;
  /** Path of the picture of the assigned agent, relative to the URL of this hub; null without one */
  agentPicture: string | null;
  /** Whether at least one agent is online */
  agentOnline: boolean;
  /** Set while the AI agent answers; `POST /widget/v1/handoff` requests a person */
  assistant: {
    /** Notice of the workspace about the AI agent; may be empty */
    disclosure: string;
  } | null;
  /** When the conversation was last closed; null if never */
  closedAt: string | null;
  /** Whether this conversation is closed and the visitor has another that is not; `POST /widget/v1/conversations` opens it */
  isContinued: boolean;
  /** Rating after the last closing; null without one */
  rating: ChatRating | null;
  /** Whether a rating can be given or changed now */
  ratingOffered: boolean;
}

export interface VisitorConversationFrame {
  /** The conversation changed */
  type: 'conversation';
  conversation: VisitorConversation;
}

/** A part of an answer in progress; the final message replaces it */
export interface VisitorDeltaFrame {
  /** A part of an answer that the AI agent is writing */
  type: 'delta';
  /** Id of the future message */
  id: string;
  /** Length of the text before this part, in UTF-16 units. If the client has less, a frame was lost */
  at: number;
  /** Text of this part */
  text: string;
  /** Whether the answer was discarded; no message follows */
  dropped: boolean;
}

export type VisitorFrame = VisitorMessageFrame | VisitorDeltaFrame | VisitorTypingFrame | VisitorReadFrame | VisitorPresenceFrame | VisitorConversationFrame | VisitorSyncFrame | ChatErrorFrame;

export interface VisitorMessageFrame {
  /** A message was written */
  type: 'message';
  message: ChatMessage;
}

export interface VisitorPresenceFrame {
  /** Agents came online or went offline */
  type: 'presence';
  /** Whether at least one agent is online */
  agentOnline: boolean;
}

export interface VisitorRead {
  /** `seq` up to which the visitor has read */
  seq: number;
}

export interface VisitorReadFrame {
  /** Messages were read */
  type: 'read';
  /** Side that has read */
  who: 'visitor' | 'agent';
  /** `seq` up to which that side has read */
  seq: number;
}

export interface VisitorSession {
  /** Session token, to send as `Authorization: Bearer` */
  token: string;
  /** When the session ends unless it is renewed */
  expiresAt: string;
  /** Id of the visitor */
  visitorId: string;
  conversation: VisitorConversation;
  settings: ChatPageSettings;
  /** True when the conversations of `anonymousSession` became those of this visitor in this request */
  carriedOver: boolean;
}

export interface VisitorSessionEnded {
  /** Always true: the session ended */
  ended: true;
}

export interface VisitorSyncFrame {
  /** State of the conversation, sent regularly so that the client notices missed frames */
  type: 'sync';
  /** `seq` of the newest message; 0 without messages */
  lastSeq: number;
  /** Status of the conversation */
  status: string;
}

export interface VisitorTyping {
  /** Whether agents see the visitor as typing */
  typing: boolean;
}

export interface VisitorTypingFrame {
  /** An agent started or stopped typing */
  type: 'typing';
  /** `agent` for a person, `ai` for the AI agent */
  who: 'agent' | 'ai';
  /** Display name of the agent; null without one */
  name: string | null;
  /** False when typing stopped */
  typing: boolean;
}

export interface VoiceAnswer {
  /** Text of the answer */
  text: string;
  /** Speech of the answer: PCM, signed, 16 bits, little-endian, mono, of `sampleRate` */
  audioBase64: string;
  /** Always true: the answer is complete */
  done: true;
}

export interface VoiceRequest {
  /** Words of the caller, at most 4,000 code points. They precede the words in the audio */
  text?: string;
  /** PCM, signed, 16 bits, little-endian, mono; or a WAV, whose declared lengths are ignored. At most 300 seconds */
  audioBase64?: string;
  /** Sample rate of the PCM in request and response, in Hz. A WAV in the request declares its own */
  sampleRate?: number;
  /** Language of the caller and the answer (BCP 47); detected when omitted */
  locale?: string;
}

export interface Webhook {
  /** Id of the webhook */
  id: string;
  /** https URL that receives the events, at most 2,000 characters */
  url: string;
  /** Types of events that are sent */
  events: ('message.created' | 'conversation.created' | 'conversation.closed' | 'conversation.assigned' | 'csat.submitted' | 'visitor.created')[];
  /** Description to show, at most 500 characters; may be empty */
  description: string;
  /** Whether events are sent; while it is false, no new events are recorded */
  active: boolean;
  /** Environment of the events that are sent */
  environment: 'live' | 'test';
  /** Always false: private notes are never sent */
  includePrivate: false;
  /** Last characters of the secret */
  secretHint: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
  /** Why the hub deactivated the webhook; null if it did not */
  disabledReason: string | null;
}

export interface WebhookDelivery {
  /** Id of the delivery */
  id: string;
  /** Id of the event; the same for every attempt */
  eventId: string;
  /** Type of the event */
  event: 'message.created' | 'conversation.created' | 'conversation.closed' | 'conversation.assigned' | 'csat.submitted' | 'visitor.created';
  /** `failed`: will be retried; `exhausted`: will not be retried */
  status: 'pending' | 'delivered' | 'failed' | 'exhausted' | 'cancelled';
  /** Attempts so far */
  attempts: number;
  /** Time of the next attempt; null when none is planned, during an attempt, and while an earlier event is pending */
  nextAttemptAt: string | null;
  /** HTTP status of the last response; null when there was none */
  responseStatus: number | null;
  /** Duration of the last attempt, in milliseconds; null before the first */
  responseMs: number | null;
  /** Why the last attempt failed; null when it succeeded */
  lastError: string | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
}

export interface WebhookDeliveryDetail {
  /** Id of the delivery */
  id: string;
  /** Id of the event; the same for every attempt */
  eventId: string;
  /** Type of the event */
  event: 'message.created' | 'conversation.created' | 'conversation.closed' | 'conversation.assigned' | 'csat.submitted' | 'visitor.created';
  /** `failed`: will be retried; `exhausted`: will not be retried */
  status: 'pending' | 'delivered' | 'failed' | 'exhausted' | 'cancelled';
  /** Attempts so far */
  attempts: number;
  /** Time of the next attempt; null when none is planned, during an attempt, and while an earlier event is pending */
  nextAttemptAt: string | null;
  /** HTTP status of the last response; null when there was none */
  responseStatus: number | null;
  /** Duration of the last attempt, in milliseconds; null before the first */
  responseMs: number | null;
  /** Why the last attempt failed; null when it succeeded */
  lastError: string | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** Exact request body; empty after the conversation was erased */
  body: string;
  /** Attempts, oldest first */
  history: {
    /** Number of the attempt, from 1 */
    attempt: number;
    /** ISO 8601, UTC, with milliseconds */
    startedAt: string;
    /** HTTP status of the response; null when there was none */
    responseStatus: number | null;
    /** Duration of the attempt, in milliseconds */
    responseMs: number;
    /** Why the attempt failed; null when it did not */
    error: string | null;
    /** First 2 KiB of the response */
    response: string;
  }[];
}

export interface WebhookDeliveryPage {
  /** Rows of this page, at most `meta.limit` */
  data: WebhookDelivery[];
  meta: PageMeta;
}

export interface WebhookEvent {
  /** A webhook changed. Only admins receive this event */
  type: 'webhook';
  /** Time of the event */
  at: string;
  /** Who changed it, as in the audit log: `user:<id>`, `token:<id>` or another actor, such as `platform` */
  by: string;
  /** Id of the webhook */
  id: string;
  /** Kind of the change */
  change: 'created' | 'updated' | 'deleted';
}

export interface WebhookPage {
  /** Rows of this page, at most `meta.limit` */
  data: Webhook[];
  meta: PageMeta;
}

export interface WebhookReplay {
  /** Number of deliveries that were queued again */
  replayed: number;
}

export interface WebhookTrigger {
  /** Version of the trigger format; 1 is the only one */
  schemaVersion: 1;
  /** Starts when the inbound hook is called */
  type: 'webhook';
  /** Which calls of the inbound hook start the workflow */
  webhook: {
    /** Token that callers of the inbound hook send as `X-Service-Automation-Token`. It starts the workflow: use at least 16 random bytes. When omitted, an update keeps the token and a new trigger gets a random one. A token starts at most 100 workflows of a workspace. Responses contain it for users with the role `admin` and for keys with `automations:manage`; other callers get it only in the response to the request that sets it */
    token?: string;
    /** Events that start the workflow when a hook call has an `event` and no `workflowId`; every event when omitted. A call with `workflowId` starts the workflow whatever its `event` */
    events?: string[];
  };
}

export interface WebhookTriggerInput {
  /** Version of the trigger format; 1 is the only one */
  schemaVersion?: 1;
  /** Starts when the inbound hook is called */
  type: 'webhook';
  /** Which calls of the inbound hook start the workflow */
  webhook: {
    /** Token that callers of the inbound hook send as `X-Service-Automation-Token`. It starts the workflow: use at least 16 random bytes. When omitted, an update keeps the token and a new trigger gets a random one. A token starts at most 100 workflows of a workspace. Responses contain it for users with the role `admin` and for keys with `automations:manage`; other callers get it only in the response to the request that sets it */
    token?: string;
    /** Events that start the workflow when a hook call has an `event` and no `workflowId`; every event when omitted. A call with `workflowId` starts the workflow whatever its `event` */
    events?: string[];
  };
}

export interface WebhookWithSecret {
  /** Id of the webhook */
  id: string;
  /** https URL that receives the events, at most 2,000 characters */
  url: string;
  /** Types of events that are sent */
  events: ('message.created' | 'conversation.created' | 'conversation.closed' | 'conversation.assigned' | 'csat.submitted' | 'visitor.created')[];
  /** Description to show, at most 500 characters; may be empty */
  description: string;
  /** Whether events are sent; while it is false, no new events are recorded */
  active: boolean;
  /** Environment of the events that are sent */
  environment: 'live' | 'test';
  /** Always false: private notes are never sent */
  includePrivate: false;
  /** Last characters of the secret */
  secretHint: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
  /** Why the hub deactivated the webhook; null if it did not */
  disabledReason: string | null;
  /** Signing secret, returned only once: `whsec_` and 32 bytes as base64 */
  secret: string;
}

export interface Workflow {
  /** Id of the workflow */
  id: string;
  /** Display name, at most 200 characters */
  name: string;
  /** Whether its trigger starts runs; an inactive workflow cannot be started */
  active: boolean;
  triggerJson: Trigger;
  /** Steps in the order in which they run, 1 to 200 */
  stepsJson: Step[];
  /** Version, from 1; each change of steps, trigger or limits increments it */
  version: number;
  /** Limits on its runs; null for none */
  limits: WorkflowLimits | null;
  /** Schema of the payload of its runs; null for any payload */
  inputs: WorkflowInputs | null;
  /** `test` for a workflow created by an API key of environment `test`: all its runs are test runs until a live key or a user saves it. A test key cannot change or delete a live workflow */
  environment: 'live' | 'test';
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
  /** Next time at which its schedule fires; null without a schedule */
  nextRunAt: string | null;
}

export interface WorkflowEvent {
  /** A workflow changed */
  type: 'workflow';
  /** Time of the event */
  at: string;
  /** Who changed it, as in the audit log: `user:<id>`, `token:<id>` or another actor, such as `platform` */
  by: string;
  /** Id of the workflow */
  id: string;
  /** Kind of the change */
  change: 'created' | 'updated' | 'deleted' | 'restored';
  /** Version after the change; null after a deletion */
  version: number | null;
}

/** JSON Schema of the payload of a run, of type `object`. Supported keywords: `type` (string, number, integer, boolean, array or object; in each schema), `title`, `description`, `default`, `enum`, `minimum`, `maximum`, `minLength`, `maxLength`, `pattern`, `items`, `minItems`, `maxItems`, `properties`, `required` and `additionalProperties` (true or false). At most 64 KiB, 500 schemas and 8 levels; a `pattern` cannot contain back references or lookarounds. Payloads of callers are validated (API, dry run, sequence, inbound hook, `subagent.spawn`); payloads of schedules, channels and events are not. Defaults are applied to all of them. */
export type WorkflowInputs = JsonObject;

export interface WorkflowLimits {
  /** Runs in progress at the same time, 1 to 1,000; no limit when omitted */
  maxConcurrentRuns?: number;
  /** Runs that start within any minute, 1 to 100,000; no limit when omitted */
  maxRunsPerMinute?: number;
  /** `queue`: the run waits. `drop`: the run is refused (409 `workflow_limit_reached`). `replace`: the runs in progress are cancelled */
  onLimit: 'queue' | 'drop' | 'replace';
}

export interface WorkflowLimitsInput {
  /** Runs in progress at the same time, 1 to 1,000; no limit when omitted */
  maxConcurrentRuns?: number;
  /** Runs that start within any minute, 1 to 100,000; no limit when omitted */
  maxRunsPerMinute?: number;
  /** `queue`: the run waits. `drop`: the run is refused (409 `workflow_limit_reached`). `replace`: the runs in progress are cancelled */
  onLimit?: 'queue' | 'drop' | 'replace';
}

export interface WorkflowPage {
  /** Rows of this page, at most `meta.limit` */
  data: Workflow[];
  meta: PageMeta;
}

export interface WorkflowSummary {
  /** Id of the workflow */
  id: string;
  /** Display name, at most 200 characters */
  name: string;
  /** Whether its trigger starts runs; an inactive workflow cannot be started */
  active: boolean;
  /** Type of its trigger, such as `manual`, `schedule`, `webhook`, `event` or `channel` */
  triggerType: string;
  /** Number of its steps, 1 to 200 */
  stepCount: number;
  /** Version, from 1 */
  version: number;
  /** `test` if all its runs are test runs */
  environment: 'live' | 'test';
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
  /** Next time at which its schedule fires; null without a schedule */
  nextRunAt: string | null;
  /** Newest run; null if no run is stored */
  lastRun: {
    /** Id of the run */
    id: string;
    /** Status of the run */
    status: 'queued' | 'running' | 'waiting_approval' | 'succeeded' | 'failed' | 'cancelled';
    /** Environment of the run */
    environment: 'live' | 'test';
    /** ISO 8601, UTC, with milliseconds */
    queuedAt: string;
    /** ISO 8601, UTC, with milliseconds */
    finishedAt: string | null;
  } | null;
}

export interface WorkflowSummaryPage {
  /** Rows of this page, at most `meta.limit` */
  data: WorkflowSummary[];
  meta: PageMeta;
}

export interface WorkflowVersion {
  /** Version, from 1; higher is newer */
  version: number;
  /** Name of the workflow in this version */
  name: string;
  /** Who saved it: `user:<id>`, `token:<id>` of an API key, or another actor; null if that is not known */
  savedBy: string | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** Steps of this version, in the order in which they run */
  stepsJson: Step[];
  /** Schema of the payload of runs of this version; null for any payload */
  inputs: WorkflowInputs | null;
}

export interface WorkflowVersionSummary {
  /** Version, from 1; higher is newer */
  version: number;
  /** Name of the workflow in this version */
  name: string;
  /** Who saved it: `user:<id>`, `token:<id>` of an API key, or another actor; null if that is not known */
  savedBy: string | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
}

export interface WorkflowVersionSummaryPage {
  /** Rows of this page, at most `meta.limit` */
  data: WorkflowVersionSummary[];
  meta: PageMeta;
}

export type WorkspaceEvent = RunEvent | StepEvent | ApprovalEvent | NodeEvent | CallEvent | WorkflowEvent | AgentEvent | SequenceEvent | ChannelEvent | WebhookEvent | SettingsEvent | ReadyEvent | ResetEvent | EndEvent;

/** Input and answer of each operation. */
export interface Operations {
  /** Create a hosted chat link for a visitor */
  createChatSession: {
    input: {
      body: {
        /** Your own stable id of the visitor */
        externalId: string;
        /** Name of the visitor, shown to agents */
        displayName?: string;
        /** Email address of the visitor; it is not verified */
        email?: string;
        /** Merged one level deep into the visitor's attributes; null deletes a key. At most 50 keys and 16 KiB in total */
        attributes?: Record<string, unknown>;
        /** Title of a new conversation; display name, email or external id when omitted */
        name?: string;
        /** Source of the conversation, such as `api` or `Mobile App` */
        source?: string;
      };
    };
    answer: ChatSession;
  };
  /** List conversations */
  listChatConversations: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
        /** Returns only items in this status */
        status?: 'open' | 'pending' | 'resolved' | 'closed';
        /** Only conversations of this source; case-sensitive */
        source?: string;
      };
    };
    answer: ConversationPage;
  };
  /** Create a conversation */
  createChatConversation: {
    input: {
      body: {
        /** Title for agents, 1 to 200 characters */
        name: string;
        /** Urgency of the conversation */
        priority?: 'low' | 'normal' | 'high' | 'urgent';
        /** Source of the conversation, such as `api` or `Mobile App` */
        source?: string;
        /** Visitor of the conversation; without it, the conversation has none */
        visitor?: {
          /** Identifies the visitor. Without it, each request creates a new visitor */
          externalId?: string;
          /** Name of the visitor, shown to agents */
          displayName?: string;
          /** Email address of the visitor; it is not verified */
          email?: string;
          /** Merged one level deep into the visitor's attributes; null deletes a key. At most 50 keys and 16 KiB in total */
          attributes?: Record<string, unknown>;
        };
      };
    };
    answer: Conversation;
  };
  /** List the messages of a conversation */
  listChatMessages: {
    input: {
      params: {
        /** Id of the conversation */
        id: string;
      };
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page, or a `seq`: only later messages */
        after?: string;
      };
    };
    answer: ChatMessagePage;
  };
  /** Send a message as the API */
  sendChatMessage: {
    input: {
      params: {
        /** Id of the conversation */
        id: string;
      };
      body: {
        /** Text of the message, 1 to 10,000 characters */
        content: string;
        /** Your own id of the message; a repeated id is not stored again */
        clientId?: string;
      };
    };
    answer: ChatMessage;
  };
  /** List or look up visitors */
  listChatVisitors: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
        /** Your own stable id of the visitor */
        externalId?: string;
      };
    };
    answer: ChatVisitors;
  };
  /** List the conversations of a view */
  listInboxConversations: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
        /** Returns only the conversations of this view of the inbox */
        view?: 'all' | 'mine' | 'unassigned' | 'open' | 'pending' | 'snoozed' | 'resolved' | 'closed' | 'unread' | 'assigned' | 'visitor';
        /** Id of the assignee, for the view `assigned` */
        userId?: string;
        /** Id of the visitor, for the view `visitor` */
        visitorId?: string;
      };
    };
    answer: InboxConversationPage;
  };
  /** Start a conversation with a known visitor */
  startInboxConversation: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      body: {
        /** Visitor to write to */
        visitorId: string;
        /** Text of the first message, 1 to 10,000 characters */
        content: string;
        /** Source of the conversation, such as `api` or `Mobile App` */
        source?: string;
      };
    };
    answer: InboxConversation;
  };
  /** Count the conversations of each view */
  countInboxConversations: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
    };
    answer: InboxCounts;
  };
  /** Update up to 100 conversations */
  changeInboxConversations: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      body: InboxBulk;
    };
    answer: InboxBulkAnswer;
  };
  /** Get a conversation */
  getInboxConversation: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the conversation */
        id: string;
      };
    };
    answer: InboxConversationDetail;
  };
  /** Update a conversation */
  updateInboxConversation: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the conversation */
        id: string;
      };
      body: {
        /** New status; unchanged when omitted */
        status?: 'open' | 'pending' | 'resolved' | 'closed';
        /** New priority; unchanged when omitted */
        priority?: 'low' | 'normal' | 'high' | 'urgent';
        /** End of the snooze; until then the views of open work omit it. A visitor message or null ends the snooze */
        snoozedUntil?: string | null;
        /** Title for agents, 1 to 200 characters */
        name?: string;
      };
    };
    answer: InboxConversation;
  };
  /** Assign or unassign a conversation */
  assignInboxConversation: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the conversation */
        id: string;
      };
      body: {
        /** Id of a member; null for no assignee */
        userId: string | null;
        /** Id of a member; null for no assignee */
        from?: string | null;
      };
    };
    answer: InboxConversation;
  };
  /** List messages and private notes of a conversation */
  listInboxMessages: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the conversation */
        id: string;
      };
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** Returns only messages after this `seq` (in the inbox: position), oldest first */
        after?: string;
        /** Returns only messages before this `seq` (in the inbox: position) */
        before?: string;
      };
    };
    answer: InboxMessagePage;
  };
  /** Send a reply or a private note */
  sendInboxMessage: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the conversation */
        id: string;
      };
      body: {
        /** Text, at most 10,000 characters; may be empty when files are sent */
        content: string;
        /** Whether it is a private note, which visitors never see */
        private?: boolean;
        /** Your own id of the message; a repeated id is not stored again */
        clientId?: string;
        /** Ids of uploaded files of this conversation that no message contains yet */
        attachmentIds?: string[];
        /** `seq` of the newest message that you saw. The reply is refused if a colleague has written a newer one */
        lastSeenSeq?: number;
      };
    };
    answer: InboxMessage;
  };
  /** Mark messages as read by agents */
  readInboxConversation: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the conversation */
        id: string;
      };
      body: {
        /** `seq` up to which messages are read */
        seq: number;
      };
    };
    answer: InboxConversation;
  };
  /** Update viewing and typing status */
  showInboxActivity: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the conversation */
        id: string;
      };
      body: {
        /** Whether you view the conversation now */
        viewing: boolean;
        /** Whether you are typing now */
        typing?: boolean;
      };
    };
    answer: InboxActivity;
  };
  /** Save your draft */
  putInboxDraft: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the conversation */
        id: string;
      };
      body: {
        /** Text of the draft, at most 10,000 characters; empty deletes the draft */
        content: string;
        /** Whether it is the draft of a private note */
        private?: boolean;
      };
    };
    answer: ChatDraft;
  };
  /** Revoke all links and visitor sessions of a conversation */
  revokeInboxLinks: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the conversation */
        id: string;
      };
    };
    answer: RevokedLinks;
  };
  /** List or search canned replies */
  listCannedReplies: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
        /** Only replies with this text in the shortcut or the content */
        q?: string;
        /** Resolves the variables with the values of this conversation */
        conversationId?: string;
      };
    };
    answer: CannedReplyPage;
  };
  /** Create a canned reply */
  createCannedReply: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      body: {
        /** Unique in the workspace, 1 to 40 characters of a-z, 0-9, `_` and `-` */
        shortcut: string;
        /** Text with variables such as `{{visitor.name|there}}`, 1 to 10,000 characters */
        content: string;
      };
    };
    answer: CannedReply;
  };
  /** Update a canned reply */
  updateCannedReply: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the canned reply */
        id: string;
      };
      body: {
        /** Unique in the workspace, 1 to 40 characters of a-z, 0-9, `_` and `-` */
        shortcut?: string;
        /** Text with variables such as `{{visitor.name|there}}`, 1 to 10,000 characters */
        content?: string;
      };
    };
    answer: CannedReply;
  };
  /** Delete a canned reply */
  deleteCannedReply: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the canned reply */
        id: string;
      };
    };
    answer: Deleted;
  };
  /** List members with their presence */
  listChatAgents: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
    };
    answer: ChatAgents;
  };
  /** Set your presence */
  setChatPresence: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      body: {
        /** `away` stops automatic assignment to you */
        presence: 'online' | 'away';
      };
    };
    answer: ChatAgent;
  };
  /** Upload a file for a message */
  uploadInboxFile: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the conversation */
        id: string;
      };
      query: {
        /** Name of the file */
        name: string;
      };
    };
    answer: ChatAttachment;
  };
  /** Download a file of a conversation */
  getInboxFile: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the file */
        id: string;
      };
    };
    answer: Bytes;
  };
  /** Upload a file for a message as the visitor */
  uploadVisitorFile: {
    input: {
      query: {
        /** Name of the file */
        name: string;
      };
    };
    answer: ChatAttachment;
  };
  /** Download a file of the conversation */
  getVisitorFile: {
    input: {
      params: {
        /** Id of the file */
        id: string;
      };
    };
    answer: Bytes;
  };
  /** Search messages and notes */
  searchInbox: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      query: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
        /** Words to search for */
        q: string;
        /** `true` returns only notes, `false` only messages */
        private?: 'true' | 'false';
      };
    };
    answer: InboxHitPage;
  };
  /** List visitors */
  listInboxVisitors: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
        /** `true` returns only blocked visitors, `false` only others */
        blocked?: 'true' | 'false';
        /** Part of the name, email, phone number or external id, in any letter case */
        q?: string;
      };
    };
    answer: InboxVisitorPage;
  };
  /** Get a visitor with their newest conversations */
  getInboxVisitor: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the visitor */
        id: string;
      };
    };
    answer: InboxVisitorDetail;
  };
  /** Update a visitor */
  updateInboxVisitor: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the visitor */
        id: string;
      };
      body: {
        /** Name of the visitor, 1 to 200 characters; null deletes it */
        displayName?: string | null;
        /** Email address; null deletes it */
        email?: string | null;
        /** Phone number, 1 to 40 characters; null deletes it */
        phone?: string | null;
        /** Merged one level deep into the visitor's attributes; null deletes a key. At most 50 keys and 16 KiB in total */
        attributes?: Record<string, unknown>;
      };
    };
    answer: InboxVisitor;
  };
  /** Erase a visitor and their data */
  eraseInboxVisitor: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the visitor */
        id: string;
      };
    };
    answer: Deleted;
  };
  /** Block a visitor */
  blockInboxVisitor: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the visitor */
        id: string;
      };
    };
    answer: InboxVisitor;
  };
  /** Unblock a visitor */
  unblockInboxVisitor: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the visitor */
        id: string;
      };
    };
    answer: InboxVisitor;
  };
  /** Export the Live Chat data of a visitor */
  exportInboxVisitor: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the visitor */
        id: string;
      };
    };
    answer: Bytes;
  };
  /** List ratings */
  listChatRatings: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
      };
    };
    answer: InboxRatingPage;
  };
  /** Get the settings of Live Chat */
  getChatSettings: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
    };
    answer: ChatSettings;
  };
  /** Update the settings of Live Chat */
  putChatSettings: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      body: ChatSettingsPatch;
    };
    answer: ChatSettings;
  };
  /** Set your picture */
  putMyPicture: {
    input?: Record<string, never>;
    answer: MemberPicture;
  };
  /** Delete your picture */
  deleteMyPicture: {
    input?: Record<string, never>;
    answer: Deleted;
  };
  /** Set the picture of a member */
  putMemberPicture: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the member */
        userId: string;
      };
    };
    answer: MemberPicture;
  };
  /** Delete the picture of a member */
  deleteMemberPicture: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the member */
        userId: string;
      };
    };
    answer: Deleted;
  };
  /** Download the picture of a member */
  getMemberPicture: {
    input: {
      params: {
        /** Id of the picture, from the path in other responses */
        id: string;
      };
    };
    answer: Bytes;
  };
  /** Get the AI settings of Live Chat */
  getChatAiSettings: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
    };
    answer: ChatAiSettings;
  };
  /** Update the AI settings of Live Chat */
  putChatAiSettings: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      body: ChatAiSettingsPatch;
    };
    answer: ChatAiSettings;
  };
  /** List AI suggestions of a conversation */
  listAiSuggestions: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the conversation */
        channelId: string;
      };
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
      };
    };
    answer: AiSuggestionPage;
  };
  /** Create an AI suggestion */
  createAiSuggestion: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the conversation */
        channelId: string;
      };
    };
    answer: AiSuggestion;
  };
  /** Mark a suggestion as accepted */
  acceptAiSuggestion: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the conversation */
        channelId: string;
        /** Id of the suggestion */
        id: string;
      };
    };
    answer: AiSuggestion;
  };
  /** Get the page settings of a site key */
  getChatPage: {
    input: {
      query: {
        /** Site key of the workspace, `wgt_...` */
        siteKey: string;
      };
    };
    answer: ChatPageSettings;
  };
  /** Open a visitor session */
  openVisitorSession: {
    input: {
      body: {
        /** Site key of the workspace, `wgt_...` */
        siteKey: string;
        /** Token of the link, or of `boot` */
        token?: string;
        /** Session token of the anonymous visitor who now signs in with `token` */
        anonymousSession?: string;
        /** Name that an anonymous visitor enters */
        name?: string;
        /** Email address that an anonymous visitor enters; it is not verified */
        email?: string;
      };
    };
    answer: VisitorSession;
  };
  /** Renew a session token */
  renewVisitorSession: {
    input?: Record<string, never>;
    answer: VisitorSession;
  };
  /** End a session */
  endVisitorSession: {
    input?: Record<string, never>;
    answer: VisitorSessionEnded;
  };
  /** Get the conversation of a session */
  getVisitorConversation: {
    input?: Record<string, never>;
    answer: VisitorConversation;
  };
  /** Start a new conversation after the last one was closed */
  beginVisitorConversation: {
    input?: Record<string, never>;
    answer: VisitorSession;
  };
  /** List messages */
  listVisitorMessages: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** Returns only messages after this `seq` (in the inbox: position), oldest first */
        after?: string;
        /** Returns only messages before this `seq` (in the inbox: position) */
        before?: string;
      };
    };
    answer: ChatMessagePage;
  };
  /** Send a message as the visitor */
  sendVisitorMessage: {
    input: {
      body: {
        /** Text, at most 10,000 characters; may be empty when files are sent */
        content: string;
        /** Your own id of the message; a repeated id is not stored again */
        clientId: string;
        /** Ids of uploaded files of this conversation that no message contains yet */
        attachmentIds?: string[];
      };
    };
    answer: ChatMessage;
  };
  /** Mark messages as read by the visitor */
  readVisitorConversation: {
    input: {
      body: {
        /** `seq` up to which the visitor has read */
        seq: number;
      };
    };
    answer: VisitorRead;
  };
  /** Update the typing status of the visitor */
  showVisitorTyping: {
    input: {
      body: {
        /** Whether the visitor is typing now */
        typing: boolean;
      };
    };
    answer: VisitorTyping;
  };
  /** Request a person instead of the AI agent */
  askForPerson: {
    input?: {
      query?: {
        /** Language of the page and of the handoff message */
        locale?: 'en' | 'de' | 'fr' | 'es' | 'ar' | 'ja';
      };
    };
    answer: VisitorConversation;
  };
  /** Rate the conversation */
  rateVisitorConversation: {
    input: {
      body: {
        /** Score from 1 (worst) to 5 (best) */
        score: number;
        /** Comment, at most 2,000 characters */
        comment?: string;
      };
    };
    answer: ChatRating;
  };
  /** Stream a conversation as server-sent events */
  streamVisitorEvents: {
    input?: {
      query?: {
        /** Returns only messages after this `seq` (in the inbox: position), oldest first */
        after?: string;
      };
    };
    answer: Bytes;
  };
  /** Stream the inbox as server-sent events */
  streamInboxEvents: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
    };
    answer: Bytes;
  };
  /** List webhooks */
  listWebhooks: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
      };
    };
    answer: WebhookPage;
  };
  /** Create a webhook */
  createWebhook: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      body: {
        /** https URL that receives the events, without user name and password */
        url: string;
        /** Types of events to send; `visitor.created` is accepted but not emitted yet */
        events: ('message.created' | 'conversation.created' | 'conversation.closed' | 'conversation.assigned' | 'csat.submitted' | 'visitor.created')[];
        /** Description to show, at most 500 characters */
        description?: string;
        /** Whether events are sent immediately */
        active?: boolean;
        /** For API keys, only the environment of the key. When omitted, that of the key, or `live` for users */
        environment?: 'live' | 'test';
        /** Always false: private notes are never sent */
        includePrivate?: false;
      };
    };
    answer: WebhookWithSecret;
  };
  /** Get a webhook */
  getWebhook: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the webhook */
        id: string;
      };
    };
    answer: Webhook;
  };
  /** Update a webhook */
  updateWebhook: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the webhook */
        id: string;
      };
      body: {
        /** https URL that receives the events, without user name and password */
        url?: string;
        /** Types of events to send; `visitor.created` is accepted but not emitted yet */
        events?: ('message.created' | 'conversation.created' | 'conversation.closed' | 'conversation.assigned' | 'csat.submitted' | 'visitor.created')[];
        /** Description to show, at most 500 characters */
        description?: string;
        /** Whether events are sent; true also clears `disabledReason` */
        active?: boolean;
      };
    };
    answer: Webhook;
  };
  /** Delete a webhook with its deliveries */
  deleteWebhook: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the webhook */
        id: string;
      };
    };
    answer: Deleted;
  };
  /** Rotate the secret of a webhook */
  rotateWebhookSecret: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the webhook */
        id: string;
      };
      body?: {
        /** Hours for which requests are also signed with the old secret, 0 to 168 */
        overlapHours?: number;
      };
    };
    answer: WebhookWithSecret;
  };
  /** Send a test delivery */
  testWebhook: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the webhook */
        id: string;
      };
      body?: {
        /** Type of the sample event */
        event?: 'message.created' | 'conversation.created' | 'conversation.closed' | 'conversation.assigned' | 'csat.submitted' | 'visitor.created';
      };
    };
    answer: WebhookDelivery;
  };
  /** Replay deliveries of a period */
  replayWebhook: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the webhook */
        id: string;
      };
      body: {
        /** Only deliveries at or after this time */
        since: string;
        /** Only deliveries before this time; now when omitted */
        until?: string;
        /** Only deliveries with this status; when omitted, `failed`, `exhausted` and `cancelled` */
        status?: 'pending' | 'delivered' | 'failed' | 'exhausted' | 'cancelled';
      };
    };
    answer: WebhookReplay;
  };
  /** List deliveries */
  listWebhookDeliveries: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the webhook */
        id: string;
      };
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
        /** Returns only items in this status */
        status?: 'pending' | 'delivered' | 'failed' | 'exhausted' | 'cancelled';
        /** Returns only deliveries of this event */
        event?: 'message.created' | 'conversation.created' | 'conversation.closed' | 'conversation.assigned' | 'csat.submitted' | 'visitor.created';
      };
    };
    answer: WebhookDeliveryPage;
  };
  /** Get a delivery with its attempts */
  getWebhookDelivery: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the webhook */
        id: string;
        /** Id of the delivery */
        deliveryId: string;
      };
    };
    answer: WebhookDeliveryDetail;
  };
  /** Redeliver a delivery immediately */
  redeliverWebhookDelivery: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the webhook */
        id: string;
        /** Id of the delivery */
        deliveryId: string;
      };
    };
    answer: WebhookDelivery;
  };
  /** Create an AI run */
  createAiRun: {
    input: {
      body: CreateAiRun;
    };
    answer: AiRun;
  };
  /** List AI runs */
  listAiRuns: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
        /** Returns only items in this status */
        status?: 'succeeded' | 'failed';
        /** Returns only items of this environment */
        environment?: 'live' | 'test';
        /** JSON object with text values; only runs whose metadata contain all of them */
        metadata?: string;
      };
    };
    answer: AiRunPage;
  };
  /** Get an AI run */
  getAiRun: {
    input: {
      params: {
        /** Id of the run */
        id: string;
      };
    };
    answer: AiRun;
  };
  /** Cancel an AI run (planned) */
  cancelAiRun: {
    input: {
      params: {
        /** Id of the run */
        id: string;
      };
    };
    answer: AiRun;
  };
  /** Answer a caller as text */
  speak: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      body: Speak;
    };
    answer: Spoken;
  };
  /** Answer a caller as a stream */
  streamSpeak: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      body: Speak;
    };
    answer: Bytes;
  };
  /** Answer a caller as text and speech */
  answerVoice: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      body?: VoiceRequest;
    };
    answer: VoiceAnswer;
  };
  /** List workflows */
  listAutomationWorkflows: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
        /** `true` returns only active items, `false` only inactive ones */
        active?: 'true' | 'false';
      };
    };
    answer: WorkflowPage;
  };
  /** Create a workflow */
  createAutomationWorkflow: {
    input: {
      body: CreateWorkflow;
    };
    answer: Workflow;
  };
  /** Get a workflow */
  getAutomationWorkflow: {
    input: {
      params: {
        /** Id of the workflow */
        id: string;
      };
    };
    answer: Workflow;
  };
  /** Update a workflow */
  updateAutomationWorkflow: {
    input: {
      params: {
        /** Id of the workflow */
        id: string;
      };
      body: {
        /** Display name, 1 to 200 characters */
        name?: string;
        /** Whether its trigger starts runs */
        active?: boolean;
        triggerJson?: TriggerInput;
        /** Replaces all steps; 1 to 200 */
        stepsJson?: StepInput[];
        /** Replaces the limits on its runs; null removes them */
        limits?: WorkflowLimitsInput | null;
        /** Replaces the schema of the payload; null accepts any payload */
        inputs?: WorkflowInputs | null;
      };
    };
    answer: Workflow;
  };
  /** Delete a workflow */
  deleteAutomationWorkflow: {
    input: {
      params: {
        /** Id of the workflow */
        id: string;
      };
    };
    answer: Deleted;
  };
  /** List the versions of a workflow */
  listAutomationWorkflowVersions: {
    input: {
      params: {
        /** Id of the workflow */
        id: string;
      };
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
      };
    };
    answer: WorkflowVersionSummaryPage;
  };
  /** Get a version of a workflow */
  getAutomationWorkflowVersion: {
    input: {
      params: {
        /** Id of the workflow */
        id: string;
        /** Number of the version */
        version: number;
      };
    };
    answer: WorkflowVersion;
  };
  /** Restore a version of a workflow */
  restoreAutomationWorkflowVersion: {
    input: {
      params: {
        /** Id of the workflow */
        id: string;
        /** Number of the version */
        version: number;
      };
    };
    answer: Workflow;
  };
  /** Run a workflow */
  runAutomationWorkflow: {
    input: {
      params: {
        /** Id of the workflow */
        id: string;
      };
      query?: {
        /** `true` returns what the run would do, without starting it */
        dryRun?: 'true' | 'false';
      };
      body?: RunInput;
    };
    answer: StartedRun | DryRun;
  };
  /** Preview the next times at which a schedule fires */
  previewAutomationSchedule: {
    input: {
      body: {
        schedule: ScheduleInput;
        /** Number of times to return, 1 to 100 */
        count?: number;
        /** Returns times after this one; now when omitted */
        after?: string;
      };
    };
    answer: {
      /** Next times at which the schedule fires, earliest first */
      fires: string[];
    };
  };
  /** List workflows (alias) */
  listAutomationsAlias: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
        /** `true` returns only active items, `false` only inactive ones */
        active?: 'true' | 'false';
      };
    };
    answer: WorkflowPage;
  };
  /** Create a workflow (alias) */
  createAutomationAlias: {
    input: {
      body: CreateWorkflow;
    };
    answer: Workflow;
  };
  /** List workflows without their definitions */
  listAutomationWorkflowSummaries: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
        /** Only workflows whose name contains this text, in any letter case */
        q?: string;
        /** `true` returns only active items, `false` only inactive ones */
        active?: 'true' | 'false';
        /** Only workflows that were created from the pack with this id */
        pack?: string;
        /** `createdAt` and `updatedAt`: newest first. `name`: by the first 60 characters, in any letter case. A cursor is valid for its order only */
        sort?: 'createdAt' | 'updatedAt' | 'name';
      };
    };
    answer: WorkflowSummaryPage;
  };
  /** List deleted workflows */
  listDeletedAutomationWorkflows: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
      };
    };
    answer: DeletedWorkflowPage;
  };
  /** Restore a deleted workflow */
  restoreAutomationWorkflow: {
    input: {
      params: {
        /** Id of the workflow */
        id: string;
      };
    };
    answer: Workflow;
  };
  /** List sequences */
  listAutomationSequences: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
      };
    };
    answer: SequencePage;
  };
  /** Create a sequence */
  createAutomationSequence: {
    input: {
      body: CreateSequence;
    };
    answer: Sequence;
  };
  /** Get a sequence */
  getAutomationSequence: {
    input: {
      params: {
        /** Id of the sequence */
        id: string;
      };
    };
    answer: Sequence;
  };
  /** Update a sequence */
  updateAutomationSequence: {
    input: {
      params: {
        /** Id of the sequence */
        id: string;
      };
      body: UpdateSequence;
    };
    answer: Sequence;
  };
  /** Delete a sequence and its workflow */
  deleteAutomationSequence: {
    input: {
      params: {
        /** Id of the sequence */
        id: string;
      };
    };
    answer: Deleted;
  };
  /** Run a sequence */
  runAutomationSequence: {
    input: {
      params: {
        /** Id of the sequence */
        id: string;
      };
      body?: RunInput;
    };
    answer: {
      /** Id of the run that was started */
      runId: string;
      /** Status of the run at the time of the response */
      status: 'queued' | 'running' | 'waiting_approval' | 'succeeded' | 'failed' | 'cancelled';
      /** Workflow that executes the sequence */
      workflowId: string;
    };
  };
  /** List runs */
  listAutomationRuns: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
        /** Returns only items in this status */
        status?: 'queued' | 'running' | 'waiting_approval' | 'succeeded' | 'failed' | 'cancelled';
        /** Only runs in one of these statuses, separated by commas */
        statuses?: string;
        /** Only runs of this workflow */
        workflowId?: string;
        /** Queued at this time or later */
        from?: string;
        /** Queued before this time */
        to?: string;
        /** Only runs that a step of this run started */
        parentRunId?: string;
        /** Only runs whose id starts with these characters, 4 to 36 */
        idPrefix?: string;
        /** Only runs with this type of trigger, such as `manual` or `schedule` */
        triggerType?: string;
        /** Only runs of this environment */
        environment?: 'live' | 'test';
        /** Only runs that sent a command to this node */
        nodeId?: string;
        /** With `true`, only the latest run of each flow: runs that were retried or replayed are left out */
        latest?: 'true' | 'false';
        /** Only failed runs with this error code */
        errorCode?: string;
      };
    };
    answer: RunSummaryPage;
  };
  /** Estimate the number of runs */
  estimateAutomationRuns: {
    input?: {
      query?: {
        /** Returns only items in this status */
        status?: 'queued' | 'running' | 'waiting_approval' | 'succeeded' | 'failed' | 'cancelled';
        /** Only runs in one of these statuses, separated by commas */
        statuses?: string;
        /** Only runs of this workflow */
        workflowId?: string;
        /** Queued at this time or later */
        from?: string;
        /** Queued before this time */
        to?: string;
        /** Only runs that a step of this run started */
        parentRunId?: string;
        /** Only runs whose id starts with these characters, 4 to 36 */
        idPrefix?: string;
        /** Only runs with this type of trigger, such as `manual` or `schedule` */
        triggerType?: string;
        /** Only runs of this environment */
        environment?: 'live' | 'test';
        /** Only runs that sent a command to this node */
        nodeId?: string;
        /** With `true`, only the latest run of each flow: runs that were retried or replayed are left out */
        latest?: 'true' | 'false';
        /** Only failed runs with this error code */
        errorCode?: string;
      };
    };
    answer: RunEstimate;
  };
  /** Cancel multiple runs */
  cancelAutomationRuns: {
    input: {
      body: CancelRuns;
    };
    answer: BulkRunsAnswer;
  };
  /** Retry multiple failed or cancelled runs */
  retryAutomationRuns: {
    input: {
      body: RetryRuns;
    };
    answer: BulkRunsAnswer;
  };
  /** Get a run with its step results */
  getAutomationRun: {
    input: {
      params: {
        /** Id of the run */
        id: string;
      };
      query?: {
        /** Seconds to wait until the run has ended or waits for an approval, 0 to 30 */
        waitSeconds?: number;
        /** Large parts of the run, separated by commas: `inputs` (`context`, `payload` and the input of each step), `outputs` (the output of each step) and `turns` (the turns of an agent step that has not finished). Omitted parts are null. An empty text omits all */
        include?: string;
      };
    };
    answer: Run;
  };
  /** Get a step result of a run */
  getAutomationRunStep: {
    input: {
      params: {
        /** Id of the run */
        id: string;
        /** Position of the step in the workflow, from 0 */
        index: number;
      };
    };
    answer: StepResult;
  };
  /** List the artifacts of a run */
  listAutomationRunArtifacts: {
    input: {
      params: {
        /** Id of the run */
        id: string;
      };
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
      };
    };
    answer: RunArtifactPage;
  };
  /** Cancel a run */
  cancelAutomationRun: {
    input: {
      params: {
        /** Id of the run */
        id: string;
      };
    };
    answer: Run;
  };
  /** Retry a failed or cancelled run */
  retryAutomationRun: {
    input: {
      params: {
        /** Id of the run */
        id: string;
      };
      query?: {
        /** Index of the first step to run, 0 to 199 */
        fromStep?: number;
      };
    };
    answer: Run;
  };
  /** Replay an ended run from any step */
  replayAutomationRun: {
    input: {
      params: {
        /** Id of the run */
        id: string;
      };
      body?: {
        /** Index of the first step to run, 0 to 199 */
        fromStep?: number;
        /** Input instead of that of the run. It must match the `inputs` of the version. Steps before `fromStep` keep their outputs, which came from the earlier input */
        payload?: Record<string, unknown>;
        /** The current version of the workflow, instead of the version of the run. Its steps before `fromStep` must be the same */
        workflowVersion?: number;
      };
    };
    answer: Run;
  };
  /** Stream a run */
  streamAutomationRun: {
    input: {
      params: {
        /** Id of the run */
        id: string;
      };
      query?: {
        /** Large parts of the run, separated by commas: `inputs` (`context`, `payload` and the input of each step), `outputs` (the output of each step) and `turns` (the turns of an agent step that has not finished). Omitted parts are null. An empty text omits all */
        include?: string;
      };
    };
    answer: Bytes;
  };
  /** List flows */
  listAutomationFlows: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
        /** Returns only items of this workflow */
        workflowId?: string;
      };
    };
    answer: FlowPage;
  };
  /** Get a flow with its runs */
  getAutomationFlow: {
    input: {
      params: {
        /** Id of the flow */
        id: string;
      };
    };
    answer: FlowWithRuns;
  };
  /** Start workflows by hook */
  inboundAutomationHook: {
    input: {
      body: {
        /** Workflow to start; give either `workflowId` or `event` */
        workflowId?: string;
        /** Starts every active webhook workflow that accepts this event; at most 200 characters */
        event?: string;
        /** Free text for the steps, at most 100,000 characters */
        context?: string;
        /** Input of the run; steps read it as `{{payload.…}}` */
        payload?: Record<string, unknown>;
        /** A repeated key starts no second run; 1 to 255 characters */
        idempotencyKey?: string;
      };
    };
    answer: {
      /** Id of the run, or of the first of several */
      runId: string;
      /** Status of the run at the time of the response */
      status: 'queued' | 'running' | 'waiting_approval' | 'succeeded' | 'failed' | 'cancelled';
      /** Ids of all runs, if several workflows were started */
      runIds?: string[];
      /** True if the key was used before; the run is then the earlier one */
      duplicate?: true;
    };
  };
  /** List approvals */
  listAutomationApprovals: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
        /** Returns only items in this status */
        status?: 'pending' | 'approved' | 'rejected' | 'expired';
        /** Returns only items of this run */
        runId?: string;
      };
    };
    answer: ApprovalPage;
  };
  /** List approvals without their requests */
  listAutomationApprovalSummaries: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
        /** Returns only items in this status */
        status?: 'pending' | 'approved' | 'rejected' | 'expired';
        /** Returns only items of this run */
        runId?: string;
      };
    };
    answer: ApprovalSummaryPage;
  };
  /** Get an approval */
  getAutomationApproval: {
    input: {
      params: {
        /** Id of the approval */
        id: string;
      };
    };
    answer: ApprovalDetail;
  };
  /** Decide an approval */
  decideAutomationApproval: {
    input: {
      params: {
        /** Id of the approval */
        id: string;
      };
      body: DecideApproval;
    };
    answer: Approval;
  };
  /** Get the policy of the workspace */
  getAutomationPolicy: {
    input?: Record<string, never>;
    answer: Policy;
  };
  /** Set the policy of the workspace */
  putAutomationPolicy: {
    input: {
      body: PutPolicy;
    };
    answer: Policy;
  };
  /** List agents */
  listAutomationAgents: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
      };
    };
    answer: AgentPage;
  };
  /** Create an agent */
  createAutomationAgent: {
    input: {
      body: CreateAgent;
    };
    answer: Agent;
  };
  /** Get an agent */
  getAutomationAgent: {
    input: {
      params: {
        /** Id of the agent */
        id: string;
      };
    };
    answer: Agent;
  };
  /** Update an agent */
  updateAutomationAgent: {
    input: {
      params: {
        /** Id of the agent */
        id: string;
      };
      body: UpdateAgent;
    };
    answer: Agent;
  };
  /** Delete an agent */
  deleteAutomationAgent: {
    input: {
      params: {
        /** Id of the agent */
        id: string;
      };
    };
    answer: Deleted;
  };
  /** List tool profiles */
  listAutomationToolProfiles: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
      };
    };
    answer: ToolProfilePage;
  };
  /** Create or update a tool profile */
  putAutomationToolProfile: {
    input: {
      body: PutToolProfile;
    };
    answer: ToolProfile;
  };
  /** Get a tool profile */
  getAutomationToolProfile: {
    input: {
      params: {
        /** Id of the tool profile */
        id: string;
      };
    };
    answer: ToolProfile;
  };
  /** Delete a tool profile */
  deleteAutomationToolProfile: {
    input: {
      params: {
        /** Id of the tool profile */
        id: string;
      };
    };
    answer: Deleted;
  };
  /** Get the models and their failover order */
  getAutomationModels: {
    input?: Record<string, never>;
    answer: Models;
  };
  /** Set the models and their failover order */
  putAutomationModels: {
    input: {
      body: PutModels;
    };
    answer: Models;
  };
  /** Test a model */
  testAutomationModel: {
    input: {
      params: {
        /** Your own name for the model */
        modelId: string;
      };
    };
    answer: ModelTest;
  };
  /** Get the AI knowledge */
  getKnowledge: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
    };
    answer: Knowledge;
  };
  /** Replace the AI knowledge */
  putKnowledge: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      body: PutKnowledge;
    };
    answer: Knowledge;
  };
  /** Search the AI knowledge */
  searchKnowledge: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      body: {
        /** Text to search for, 1 to 1,000 characters */
        question: string;
        /** Language code, such as de or pt-BR */
        locale?: string;
        /** Maximum number of passages, 1 to 20 */
        limit?: number;
      };
    };
    answer: KnowledgePassages;
  };
  /** List unanswered questions */
  listUnansweredQuestions: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
      };
    };
    answer: UnansweredQuestionPage;
  };
  /** Dismiss an unanswered question */
  dismissUnansweredQuestion: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the unanswered question */
        id: string;
      };
    };
    answer: Deleted;
  };
  /** Get AI usage by day and model */
  getAiUsage: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      query?: {
        /** First day, UTC; when omitted, the report has the 30 days up to `to` */
        from?: string;
        /** Last day, UTC; today when omitted */
        to?: string;
      };
    };
    answer: AiUsage;
  };
  /** Get the daily AI budget and its usage */
  getAiBudget: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
    };
    answer: AiBudget;
  };
  /** Set the daily AI budget */
  putAiBudget: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      body: PutAiBudget;
    };
    answer: AiBudget;
  };
  /** List sessions */
  listAutomationSessions: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
        /** Returns only sessions of this scope */
        scope?: 'dm' | 'group' | 'run' | 'channel' | 'workspace';
        /** Returns only items with this key */
        key?: string;
      };
    };
    answer: SessionPage;
  };
  /** Get or create a session */
  createAutomationSession: {
    input: {
      body: {
        /** Subject of the session */
        scope: 'dm' | 'group' | 'run' | 'channel' | 'workspace';
        /** Unique together with `scope` and the environment, 1 to 200 characters */
        key: string;
        /** Title to show, at most 200 characters */
        title?: string;
      };
    };
    answer: Session;
  };
  /** Get a session with its transcript */
  getAutomationSession: {
    input: {
      params: {
        /** Id of the session */
        id: string;
      };
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `transcript.meta.nextCursor` of the previous page */
        after?: string;
      };
    };
    answer: SessionWithTranscript;
  };
  /** Append a message to a session */
  appendAutomationSessionMessage: {
    input: {
      params: {
        /** Id of the session */
        id: string;
      };
      body: {
        /** Author of the message, as in model APIs */
        role: 'user' | 'assistant';
        /** Text of the message, 1 to 20,000 characters */
        content: string;
      };
    };
    answer: SessionMessage;
  };
  /** List memory entries */
  listAutomationMemory: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
        /** Returns only items with this key */
        key?: string;
        /** Returns only items of this session */
        sessionId?: string;
      };
    };
    answer: MemoryEntryPage;
  };
  /** Set a memory entry */
  putAutomationMemory: {
    input: {
      body: {
        /** Unique in the workspace, or in the session; 1 to 200 characters */
        key: string;
        /** Any JSON value, at most 65,536 characters as JSON */
        value: unknown;
        /** Session that the entry belongs to; the workspace when omitted */
        sessionId?: string;
        /** Seconds until the entry expires, at most 31,622,400 (366 days); never when omitted */
        ttlSeconds?: number;
      };
    };
    answer: MemoryEntry;
  };
  /** List channels */
  listAutomationChannels: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
        /** Returns only channels of this provider */
        provider?: 'telegram' | 'slack' | 'whatsapp' | 'webhook' | 'email';
      };
    };
    answer: ChannelPage;
  };
  /** Create or update a channel */
  putAutomationChannel: {
    input: {
      body: PutChannel;
    };
    answer: Channel;
  };
  /** Get a channel */
  getAutomationChannel: {
    input: {
      params: {
        /** Id of the channel */
        id: string;
      };
    };
    answer: Channel;
  };
  /** Delete a channel */
  deleteAutomationChannel: {
    input: {
      params: {
        /** Id of the channel */
        id: string;
      };
    };
    answer: Deleted;
  };
  /** Receive a channel message */
  receiveAutomationChannelMessage: {
    input: {
      params: {
        /** Id of the channel */
        id: string;
      };
      body: Record<string, unknown>;
    };
    answer: {
      /** Always true: the message was accepted */
      received: true;
      /** Runs that the message started; may be empty */
      runIds: string[];
      /** Session that the message was added to; null without one */
      sessionId: string | null;
      /** True when the message was received before */
      duplicate?: true;
    } | {
      /** Challenge of the provider, returned unchanged */
      challenge: string;
    };
  };
  /** Verify a WhatsApp webhook */
  verifyAutomationChannel: {
    input: {
      params: {
        /** Id of the channel */
        id: string;
      };
      query: {
        /** Sent by WhatsApp when it verifies the address: `subscribe` */
        "hub.mode": string;
        /** Sent by WhatsApp when it verifies the address: the verify token of the channel */
        "hub.verify_token": string;
        /** Sent by WhatsApp when it verifies the address: the text to return */
        "hub.challenge": string;
      };
    };
    answer: Bytes;
  };
  /** List outbound messages */
  listAutomationMessages: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
        /** Returns only items of this run */
        runId?: string;
        /** Returns only items of this workflow */
        workflowId?: string;
        /** Returns only messages sent through this channel */
        channel?: string;
        /** Returns only items in this status */
        status?: 'delivered' | 'simulated' | 'failed';
        /** Only entries at or after this time */
        from?: string;
        /** Only entries before this time */
        to?: string;
      };
    };
    answer: OutgoingMessagePage;
  };
  /** List log lines of runs */
  listAutomationLogs: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
        /** Returns only items of this run */
        runId?: string;
        /** Returns only items of this workflow */
        workflowId?: string;
        /** Returns only lines of this level */
        level?: 'debug' | 'info' | 'warn' | 'error';
        /** Only entries at or after this time */
        from?: string;
        /** Only entries before this time */
        to?: string;
        /** Only lines of the step with this index, from 0 */
        stepIndex?: number;
        /** Only lines that contain this text, in upper or lower case; at most 200 characters */
        q?: string;
        /** `asc` for the oldest line first, `desc` for the newest line first */
        order?: 'asc' | 'desc';
        /** Starts with the page that has the line with this id in its middle. `meta.nextCursor` continues in the direction of `order`: for the other direction, send a second request with the other `order`. Without effect when `cursor` is given */
        around?: string;
      };
    };
    answer: LogLinePage;
  };
  /** Download the log of a run */
  downloadAutomationRunLogs: {
    input: {
      params: {
        /** Id of the run */
        id: string;
      };
      query?: {
        /** Returns only lines of this level */
        level?: 'debug' | 'info' | 'warn' | 'error';
        /** Only lines of the step with this index, from 0 */
        stepIndex?: number;
      };
    };
    answer: Bytes;
  };
  /** Stream outbound messages */
  streamAutomationMessages: {
    input?: {
      query?: {
        /** Returns only items of this run */
        runId?: string;
        /** Returns only items of this workflow */
        workflowId?: string;
        /** Returns only messages sent through this channel */
        channel?: string;
        /** Returns only items in this status */
        status?: 'delivered' | 'simulated' | 'failed';
      };
    };
    answer: Bytes;
  };
  /** Stream log lines of runs */
  streamAutomationLogs: {
    input?: {
      query?: {
        /** Returns only items of this run */
        runId?: string;
        /** Returns only items of this workflow */
        workflowId?: string;
        /** Returns only lines of this level */
        level?: 'debug' | 'info' | 'warn' | 'error';
      };
    };
    answer: Bytes;
  };
  /** List the skills of the hub */
  listAutomationSkillCatalog: {
    input?: Record<string, never>;
    answer: {
      /** All skills of this hub */
      skills: Skill[];
    };
  };
  /** Run a skill */
  runAutomationSkill: {
    input: {
      params: {
        /** Id of the skill in the catalog */
        skillId: string;
      };
      body?: {
        /** Input, as the catalog describes it */
        input?: Record<string, unknown>;
        /** Timeout of each attempt, in seconds */
        timeoutSeconds?: number;
        /** Retry policy; the policy of the skill when omitted */
        retry?: {
          /** Attempts in total, 1 to 10 */
          maxAttempts: number;
          /** Seconds before the second attempt */
          backoffSeconds?: number;
          /** Multiplier of each further wait */
          factor?: number;
        };
      };
    };
    answer: {
      /** Id of the run that was started */
      runId: string;
      /** Status of the run at the time of the response */
      status: 'queued' | 'running' | 'waiting_approval' | 'succeeded' | 'failed' | 'cancelled';
      /** Workflow that lists the runs of this skill */
      workflowId: string;
    };
  };
  /** List skill packs */
  listAutomationSkills: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
      };
    };
    answer: PackPage;
  };
  /** Get a pack */
  getAutomationSkillPack: {
    input: {
      params: {
        /** Id of the pack */
        packId: string;
      };
    };
    answer: PackDetail;
  };
  /** Install a pack */
  installAutomationSkill: {
    input: {
      body: {
        /** Id of the pack */
        packId: string;
        /** Version to install; the newest when omitted */
        version?: string;
        /** Whether to show what the pack may do without installing it */
        dryRun?: boolean;
      };
    };
    answer: {
      pack: Pack;
      grants: PackGrants;
      /** Whether the pack is installed now */
      installed: boolean;
    };
  };
  /** Create a workflow from an installed pack */
  createAutomationSkillWorkflow: {
    input: {
      params: {
        /** Id of the pack */
        packId: string;
      };
      body?: {
        /** Label of the workflow; the name of the pack when omitted */
        name?: string;
        /** Inputs of the pack by name, as `inputsSchema` describes them */
        inputs?: Record<string, unknown>;
        /** Whether the trigger starts runs immediately */
        active?: boolean;
      };
    };
    answer: Workflow;
  };
  /** Get the schema of packs and the skills that they may use */
  getAutomationSkillSdk: {
    input?: Record<string, never>;
    answer: {
      /** Version of the format of packs; 1 is the only one */
      schemaVersion: 1;
      /** JSON Schema of a pack */
      manifest: JsonObject;
      /** Skills of this hub */
      skills: {
        /** Stable id, used as `skillId` in steps */
        id: string;
        /** Display name of the skill */
        title: string;
        /** Human-readable summary of what the skill does and requires */
        summary: string;
        /** Entitlements that the workspace must have */
        requires: string[];
        /** Human-readable description of the effect of the skill */
        effect: string;
        /** The same as `effect`, for programs and translations. `reaches_out_safely`: a repetition is harmless */
        effectType: 'starts_run' | 'changes_node' | 'reads_node' | 'reads_workspace' | 'changes_workspace' | 'reaches_out_safely' | 'reaches_out_once';
        /** Whether each use requires an approval, whatever the policy */
        needsApproval: boolean;
        /** Whether packs may use it */
        allowedInPacks: boolean;
        /** JSON Schema of its input */
        input: JsonObject;
        /** JSON Schema of its output */
        output: JsonObject;
      }[];
    };
  };
  /** Validate a pack, or publish it in this workspace */
  postAutomationSkillSdk: {
    input: {
      body: {
        /** Manifest of the pack */
        manifest: Record<string, unknown>;
        /** Whether to publish the pack when it is valid */
        publish?: boolean;
      };
    };
    answer: {
      /** Whether the manifest is valid */
      valid: boolean;
      /** Problems of the manifest; empty for a valid one */
      errors: {
        /** Location in the manifest */
        path: string;
        /** What the field must be */
        message: string;
      }[];
      /** What the pack may do; null for an invalid manifest */
      grants: PackGrants | null;
      /** The published version; null when nothing was published */
      published: {
        /** Id of the published version */
        id: string;
        /** Id of the pack */
        packId: string;
        /** Version of the pack */
        version: string;
      } | null;
    };
  };
  /** List the packs published for all workspaces (platform admin key) */
  listHubPacks: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
      };
    };
    answer: HubPackPage;
  };
  /** Publish a pack for all workspaces (platform admin key) */
  publishHubPack: {
    input: {
      body: {
        /** As `manifest` of `POST /v1/automations/skills/sdk` */
        manifest: Record<string, unknown>;
      };
    };
    answer: {
      /** The published version */
      pack: HubPack;
      grants: PackGrants;
    };
  };
  /** Withdraw a version of a pack from all workspaces (platform admin key) */
  withdrawHubPack: {
    input: {
      params: {
        /** Id of the pack */
        packId: string;
        /** Number of the version */
        version: string;
      };
    };
    answer: HubPack;
  };
  /** Get metrics of runs, nodes, deliveries and models */
  getAutomationSlo: {
    input?: {
      query?: {
        /** Length of the measured time window, which ends now */
        window?: '1h' | '24h' | '7d' | '30d';
      };
    };
    answer: Slo;
  };
  /** Get the setup progress of the workspace */
  getAutomationOnboarding: {
    input?: Record<string, never>;
    answer: Onboarding;
  };
  /** List companion nodes */
  listAutomationNodes: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
        /** Returns only items in this status */
        status?: 'pending' | 'online' | 'offline' | 'revoked';
        /** Only nodes with this tag; not together with `status=revoked` */
        tag?: string;
      };
    };
    answer: NodePage;
  };
  /** Create a pairing code for a new node */
  createAutomationNode: {
    input?: {
      body?: {
        /** Name, unique among the nodes of the workspace; the name that the device reports when omitted */
        name?: string;
        /** Tags, in upper or lower case as given; steps can select a node by one of its tags */
        tags?: string[];
        /** Whether the workspace allows `system.*` commands on the node */
        allowSystem?: boolean;
        /** Whether the workspace allows `browser.*` commands on the node */
        allowBrowser?: boolean;
      };
    };
    answer: {
      /** Id of the new node */
      nodeId: string;
      /** Code to enter on the device, as `ABCD-EFGH`; valid once, until `expiresAt` */
      pairingCode: string;
      /** URI with the code, which the companion app opens */
      pairingUri: string;
      /** ISO 8601, UTC, with milliseconds */
      expiresAt: string;
    };
  };
  /** Claim a pairing code (called by the device) */
  claimAutomationNode: {
    input: {
      body: {
        /** Pairing code of 8 characters, such as `ABCD-EFGH`; case, spaces and hyphens are ignored */
        pairingCode: string;
        device: DeviceInfo;
      };
    };
    answer: {
      /** Id of the node */
      nodeId: string;
      /** Secret with which the device authenticates, returned only once */
      deviceSecret: string;
      hub: HubPace;
    };
  };
  /** Prove the identity of the hub (called by the device) */
  proveAutomationHub: {
    input: {
      params: {
        /** Id of the node */
        id: string;
      };
      body: {
        /** Address at which the device reaches the hub */
        hub: string;
        /** Random number of the device, as 64 hexadecimal digits */
        nonce: string;
      };
    };
    answer: {
      /** HMAC-SHA256 over the request, keyed with the SHA-256 of the device secret; 64 hexadecimal digits */
      proof: string;
    };
  };
  /** Get a companion node */
  getAutomationNode: {
    input: {
      params: {
        /** Id of the node */
        id: string;
      };
    };
    answer: Node;
  };
  /** Update a node */
  updateAutomationNode: {
    input: {
      params: {
        /** Id of the node */
        id: string;
      };
      body: {
        /** Name, unique among the nodes of the workspace, 1 to 200 characters */
        name?: string;
        /** Tags, in upper or lower case as given; steps can select a node by one of its tags */
        tags?: string[];
        /** Whether the workspace allows `system.*` commands on the node */
        allowSystem?: boolean;
        /** Whether the workspace allows `browser.*` commands on the node */
        allowBrowser?: boolean;
      };
    };
    answer: Node;
  };
  /** Revoke a node */
  deleteAutomationNode: {
    input: {
      params: {
        /** Id of the node */
        id: string;
      };
    };
    answer: Deleted;
  };
  /** Unpair a device (called by the device) */
  unpairAutomationNode: {
    input: {
      params: {
        /** Id of the node */
        id: string;
      };
    };
    answer: Deleted;
  };
  /** List the commands of a node */
  listAutomationNodeCommands: {
    input: {
      params: {
        /** Id of the node */
        id: string;
      };
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
        /** Returns only items in this status */
        status?: 'pending' | 'leased' | 'succeeded' | 'failed' | 'withdrawn';
        /** Only commands of this type, such as `node.ping` */
        type?: string;
      };
    };
    answer: NodeCommandPage;
  };
  /** List the reported facts of a node */
  listAutomationNodeFacts: {
    input: {
      params: {
        /** Id of the node */
        id: string;
      };
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
      };
    };
    answer: NodeFactsEntryPage;
  };
  /** Send a heartbeat (called by the device) */
  heartbeatAutomationNode: {
    input: {
      params: {
        /** Id of the node */
        id: string;
      };
      body: {
        facts?: DeviceFacts;
        device?: DeviceInfo;
        /** Whether the owner of the device paused it */
        paused?: boolean;
        /** Last entry of the device's own log; omitted until the device has compared its log with `audit` of a response */
        audit?: {
          /** Number of entries in the log of the device */
          count: number;
          /** SHA-256 of the last entry, as 64 hexadecimal digits */
          hash: string;
          /** Whether the device found changed or missing entries */
          isBroken?: boolean;
        };
        /** Commands of the device that are running, or whose results are not confirmed yet */
        running?: string[];
        /** Runs whose browser pages the device keeps open */
        browserRuns?: string[];
      };
    };
    answer: {
      /** Always true: the heartbeat was recorded */
      ok: true;
      /** Whether the workspace allows `system.*` commands on the node */
      allowSystem: boolean;
      /** Whether the workspace allows `browser.*` commands on the node */
      allowBrowser: boolean;
      /** Last entry of the device's log that the hub knew before this heartbeat */
      audit: AuditHead | null;
      /** Commands among `running` that are no longer needed: end them */
      withdrawn: string[];
      /** Runs among `browserRuns` that have ended: close their pages */
      endedRuns: string[];
      hub: HubPace;
    };
  };
  /** Long poll for commands (called by the device) */
  pollAutomationNodeCommands: {
    input: {
      params: {
        /** Id of the node */
        id: string;
      };
      query?: {
        /** Maximum seconds to wait, 0 to 30 */
        wait?: number;
        /** Maximum number of commands, 0 to 16; 0 returns only `withdrawn` */
        max?: number;
        /** Ids of commands that are running or whose results are not confirmed yet, separated by commas */
        running?: string;
        /** True if `running` lists all commands of the device and it has no other poll. Other leased commands then count as lost; those that only read are leased again immediately */
        runningIsComplete?: 'true' | 'false';
      };
    };
    answer: {
      /** Commands for the device, at most `max` */
      commands: Command[];
      /** Commands among `running` that are no longer needed */
      withdrawn: string[];
    };
  };
  /** Report the result of a command (called by the device) */
  completeAutomationNodeCommand: {
    input: {
      params: {
        /** Id of the node */
        id: string;
        /** Id of the command */
        commandId: string;
      };
      body: CommandResult;
    };
    answer: {
      /** Id of the command */
      id: string;
      /** Current status of the command */
      status: string;
      /** False if the command had already ended; nothing changed */
      recorded: boolean;
    };
  };
  /** Get the state of an artifact upload (called by the device) */
  readAutomationNodeUpload: {
    input: {
      params: {
        /** Id of the node */
        id: string;
        /** Id of the command */
        commandId: string;
        /** Name of the artifact */
        name: string;
      };
    };
    answer: UploadState;
  };
  /** Upload a part of an artifact (called by the device) */
  uploadAutomationNodeArtifact: {
    input: {
      params: {
        /** Id of the node */
        id: string;
        /** Id of the command */
        commandId: string;
        /** Name of the artifact */
        name: string;
      };
      query: {
        /** Offset of the bytes of this request, at most `received` */
        offset: number;
        /** Size of the whole artifact, in bytes */
        bytes: number;
        /** SHA-256 of the whole artifact */
        sha256: string;
        /** Media type of the artifact, such as `image/png` */
        contentType: string;
      };
    };
    answer: UploadState;
  };
  /** Download an artifact */
  getAutomationArtifact: {
    input: {
      params: {
        /** Id of the artifact */
        id: string;
      };
      query?: {
        /** Maximum width in pixels: returns a small WebP copy of a picture. Files that are no pictures, and pictures of which the hub cannot make a copy, are returned as they are */
        w?: '320' | '640';
      };
    };
    answer: Bytes;
  };
  /** Download an artifact for a command (called by the device) */
  readAutomationCommandFile: {
    input: {
      params: {
        /** Id of the node */
        id: string;
        /** Id of the command */
        commandId: string;
        /** Id of an artifact that the input of the command lists */
        artifactId: string;
      };
    };
    answer: Bytes;
  };
  /** List calls */
  listVoiceCalls: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
        /** Returns only calls in this direction */
        direction?: CallDirection;
        /** Returns only calls with this result */
        result?: CallResult;
        /** Only calls that started at or after this time */
        from?: string;
        /** Only calls that started before this time */
        to?: string;
      };
    };
    answer: CallRecordPage;
  };
  /** Get a call */
  getVoiceCall: {
    input: {
      params: {
        /** Id of the call */
        id: string;
      };
    };
    answer: CallRecord;
  };
  /** Get a summary of calls */
  getVoiceUsage: {
    input?: Record<string, never>;
    answer: CallSummary;
  };
  /** List phone numbers (planned) */
  listVoiceNumbers: {
    input?: Record<string, never>;
    answer: JsonValue;
  };
  /** List calls in the dashboard */
  listCalls: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `nextCursor` of the previous page: the id of its last call */
        cursor?: string;
        /** Returns only calls in this direction */
        direction?: CallDirection;
        /** Returns only calls with this result */
        result?: CallResult;
        /** Only calls that started at or after this time */
        from?: string;
        /** Only calls that started before this time */
        to?: string;
      };
    };
    answer: CallList;
  };
  /** Get a summary of calls in the dashboard */
  getCallSummary: {
    input?: Record<string, never>;
    answer: CallSummary;
  };
  /** Export calls as JSON or CSV */
  exportCalls: {
    input?: {
      query?: {
        /** Format of the export */
        format?: 'json' | 'csv';
        /** Returns only calls in this direction */
        direction?: CallDirection;
        /** Returns only calls with this result */
        result?: CallResult;
        /** Only calls that started at or after this time */
        from?: string;
        /** Only calls that started before this time */
        to?: string;
      };
    };
    answer: CallRecord[];
  };
  /** Stream calls */
  streamCalls: {
    input?: Record<string, never>;
    answer: Bytes;
  };
  /** List carrier connections */
  listCallConnections: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
      };
    };
    answer: CallConnectionPage;
  };
  /** Create a carrier connection */
  createCallConnection: {
    input: {
      body: CreateCallConnection;
    };
    answer: CallConnectionWithSecret;
  };
  /** Get a carrier connection */
  getCallConnection: {
    input: {
      params: {
        /** Id of the connection */
        id: string;
      };
    };
    answer: CallConnection;
  };
  /** Update a carrier connection */
  updateCallConnection: {
    input: {
      params: {
        /** Id of the connection */
        id: string;
      };
      body: {
        /** Display name, 1 to 200 characters */
        name?: string;
        /** Twilio: SID of the account. With it, missing calls are imported from Twilio's own list every night */
        accountSid?: string | null;
        /** Twilio: base URL of the API, https; default `https://api.twilio.com`. With a new URL, `authToken` must be sent again */
        apiBaseUrl?: string;
        /** Twilio: only together with a new `apiBaseUrl`; otherwise use `rotate` */
        authToken?: string;
      };
    };
    answer: CallConnection;
  };
  /** Delete a carrier connection */
  deleteCallConnection: {
    input: {
      params: {
        /** Id of the connection */
        id: string;
      };
    };
    answer: Deleted;
  };
  /** Rotate the signing secret of a carrier connection */
  rotateCallConnection: {
    input: {
      params: {
        /** Id of the connection */
        id: string;
      };
      body?: {
        /** Twilio: auth token of the account, which signs the events; write-only */
        authToken?: string;
        /** Telnyx: public key of the account, as base64; write-only */
        publicKey?: string;
        /** Hours for which signatures with the previous secret are accepted, 0 to 168 */
        overlapHours?: number;
      };
    };
    answer: CallConnectionWithSecret;
  };
  /** Receive a call event (called by the carrier) */
  receiveCarrierEvent: {
    input: {
      params: {
        /** Carrier */
        provider: 'twilio' | 'telnyx' | 'kamailio';
        /** Id of the connection */
        connectionId: string;
      };
      body: Record<string, unknown>;
    };
    answer: CarrierEventReceived;
  };
  /** Set the own SIP trunk and register */
  registerOwnTrunk: {
    input: {
      body: RegisterOwnTrunk;
    };
    answer: OwnTrunk;
  };
  /** Get the state of the own SIP trunk */
  getSipStatus: {
    input?: Record<string, never>;
    answer: OwnTrunk | null;
  };
  /** Remove the own SIP trunk */
  removeOwnTrunk: {
    input?: Record<string, never>;
    answer: Deleted;
  };
  /** Get the state of hosted SIP */
  getHostedSip: {
    input?: Record<string, never>;
    answer: HostedSip;
  };
  /** Opt into hosted SIP */
  optIntoHostedSip: {
    input?: Record<string, never>;
    answer: HostedSip;
  };
  /** Opt out of hosted SIP */
  optOutOfHostedSip: {
    input?: Record<string, never>;
    answer: HostedSip;
  };
  /** List workflows */
  growthListWorkflows: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
        /** `true` returns only active items, `false` only inactive ones */
        active?: 'true' | 'false';
      };
    };
    answer: WorkflowPage;
  };
  /** Create a workflow */
  growthCreateWorkflow: {
    input: {
      body: CreateWorkflow;
    };
    answer: Workflow;
  };
  /** Run a workflow */
  growthRunWorkflow: {
    input: {
      params: {
        /** Id of the workflow */
        id: string;
      };
      query?: {
        /** `true` returns what the run would do, without starting it */
        dryRun?: 'true' | 'false';
      };
      body?: RunInput;
    };
    answer: StartedRun | DryRun;
  };
  /** List sequences */
  growthListSequences: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
      };
    };
    answer: SequencePage;
  };
  /** Create a sequence */
  growthCreateSequence: {
    input: {
      body: CreateSequence;
    };
    answer: Sequence;
  };
  /** List agents */
  growthListAgents: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
      };
    };
    answer: AgentPage;
  };
  /** Create an agent */
  growthCreateAgent: {
    input: {
      body: CreateAgent;
    };
    answer: Agent;
  };
  /** Decide an approval */
  growthDecideApproval: {
    input: {
      params: {
        /** Id of the approval */
        id: string;
      };
      body: DecideApproval;
    };
    answer: Approval;
  };
  /** Set the policy of the workspace */
  growthPutPolicy: {
    input: {
      body: PutPolicy;
    };
    answer: Policy;
  };
  /** List runs */
  growthListRuns: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
        /** Returns only items in this status */
        status?: 'queued' | 'running' | 'waiting_approval' | 'succeeded' | 'failed' | 'cancelled';
        /** Only runs in one of these statuses, separated by commas */
        statuses?: string;
        /** Only runs of this workflow */
        workflowId?: string;
        /** Queued at this time or later */
        from?: string;
        /** Queued before this time */
        to?: string;
        /** Only runs that a step of this run started */
        parentRunId?: string;
        /** Only runs whose id starts with these characters, 4 to 36 */
        idPrefix?: string;
        /** Only runs with this type of trigger, such as `manual` or `schedule` */
        triggerType?: string;
        /** Only runs of this environment */
        environment?: 'live' | 'test';
        /** Only runs that sent a command to this node */
        nodeId?: string;
        /** With `true`, only the latest run of each flow: runs that were retried or replayed are left out */
        latest?: 'true' | 'false';
        /** Only failed runs with this error code */
        errorCode?: string;
      };
    };
    answer: RunSummaryPage;
  };
  /** List sessions */
  growthListSessions: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
        /** Returns only sessions of this scope */
        scope?: 'dm' | 'group' | 'run' | 'channel' | 'workspace';
        /** Returns only items with this key */
        key?: string;
      };
    };
    answer: SessionPage;
  };
  /** List approvals */
  growthListApprovals: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
        /** Returns only items in this status */
        status?: 'pending' | 'approved' | 'rejected' | 'expired';
        /** Returns only items of this run */
        runId?: string;
      };
    };
    answer: ApprovalPage;
  };
  /** List channels */
  growthListChannels: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
        /** Returns only channels of this provider */
        provider?: 'telegram' | 'slack' | 'whatsapp' | 'webhook' | 'email';
      };
    };
    answer: ChannelPage;
  };
  /** Get an overview for a console */
  growthConsole: {
    input?: Record<string, never>;
    answer: {
      /** Runs of the workspace */
      runs: {
        /** The newest 10 runs */
        recent: RunSummary[];
        /** Number of runs that have not ended, by status */
        open: {
          /** Runs that wait to start */
          queued: number;
          /** Runs in progress */
          running: number;
          /** Runs that wait for a decision */
          waitingApproval: number;
        };
      };
      /** The newest 10 sessions */
      sessions: Session[];
      /** AI agents, newest first, at most 10 */
      agents: Agent[];
      /** Approvals of the workspace */
      approvals: {
        /** Number of approvals that wait for a decision */
        pending: number;
        /** The newest 10 pending approvals */
        recent: Approval[];
      };
      /** Companion nodes, newest first, at most 100 */
      nodes: Node[];
      slo: Slo;
    };
  };
  /** Create new links for the approvers of an approval */
  growthCreateApprovalLinks: {
    input: {
      params: {
        /** Id of the approval */
        id: string;
      };
    };
    answer: {
      /** One link for each approver */
      links: {
        /** Email address of the approver */
        approver: string;
        /** Page on which the approver decides, once and without signing in */
        url: string;
      }[];
    };
  };
  /** Update a workflow, sequence, agent, tool profile, channel, node or session */
  growthUpdateResource: {
    input: {
      params: {
        /** Type of the resource */
        resource: 'workflows' | 'sequences' | 'agents' | 'tool-profiles' | 'channels' | 'nodes' | 'sessions';
        /** Id of the resource */
        id: string;
      };
      body: Record<string, unknown>;
    };
    answer: GrowthResource;
  };
  /** Delete a workflow, sequence, agent, tool profile, channel, node or session */
  growthDeleteResource: {
    input: {
      params: {
        /** Type of the resource */
        resource: 'workflows' | 'sequences' | 'agents' | 'tool-profiles' | 'channels' | 'nodes' | 'sessions';
        /** Id of the resource */
        id: string;
      };
    };
    answer: Deleted;
  };
  /** Search a workspace by name or id */
  searchWorkspace: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      query: {
        /** Part of a name, or the start of an id */
        q: string;
        /** Maximum number of results of each type */
        limit?: number;
      };
    };
    answer: SearchResults;
  };
  /** List audit log entries */
  listAuditLog: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
        /** Only entries at or after this time */
        from?: string;
        /** Only entries before this time */
        to?: string;
        /** Only entries with this action, such as `workflow.updated` */
        action?: string;
        /** Returns only entries of this actor, such as `user:ID` */
        actor?: string;
        /** Returns only entries about this type of target, such as `workflow` */
        targetType?: string;
        /** Returns only entries about the target with this id */
        targetId?: string;
      };
    };
    answer: AuditEntryPage;
  };
  /** List usage events for billing */
  listUsageEvents: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
        /** Only events of this kind */
        kind?: 'chat.session' | 'ai.run';
        /** Only events recorded at or after this time */
        from?: string;
        /** Only events recorded before this time */
        to?: string;
      };
    };
    answer: UsageEventPage;
  };
  /** Get numbers of usage events by day and month */
  getUsageTotals: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      query?: {
        /** Only events of this kind */
        kind?: 'chat.session' | 'ai.run';
        /** First day, UTC; when omitted, the 30 days up to `to` are counted */
        from?: string;
        /** Last day, UTC; today when omitted */
        to?: string;
      };
    };
    answer: UsageTotals;
  };
  /** Stream workspace events */
  streamWorkspaceEvents: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
    };
    answer: Bytes;
  };
  /** List contact lists */
  listContactLists: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
      };
    };
    answer: ContactListPage;
  };
  /** Create a contact list */
  createContactList: {
    input: {
      body: {
        /** Display name, 1 to 200 characters */
        name: string;
      };
    };
    answer: ContactList;
  };
  /** Delete a contact list and its contacts */
  deleteContactList: {
    input: {
      params: {
        /** Id of the list */
        id: string;
      };
    };
    answer: Deleted;
  };
  /** List the contacts of a list */
  listContacts: {
    input: {
      params: {
        /** Id of the list */
        id: string;
      };
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
      };
    };
    answer: ContactPage;
  };
  /** Add contacts to a list */
  addContacts: {
    input: {
      params: {
        /** Id of the list */
        id: string;
      };
      body: {
        /** Contacts to add or update, 1 to 1,000 */
        contacts: {
          /** Email address; identifies the contact in its list */
          email: string;
          /** Name of the person, 1 to 200 characters */
          name?: string;
          /** Your own fields, for use in campaign templates; at most 50 keys and 16 KiB in total */
          attributes?: Record<string, unknown>;
        }[];
      };
    };
    answer: {
      /** Number of new contacts */
      added: number;
      /** Number of updated contacts */
      updated: number;
    };
  };
  /** Delete a contact */
  deleteContact: {
    input: {
      params: {
        /** Id of the contact */
        id: string;
      };
    };
    answer: Deleted;
  };
  /** List campaigns */
  listCampaigns: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
      };
    };
    answer: CampaignPage;
  };
  /** Create a campaign */
  createCampaign: {
    input: {
      body: {
        /** Display name, 1 to 200 characters */
        name: string;
        /** List of the recipients */
        listId: string;
        /** Subject of the mail, 1 to 500 characters; may contain templates */
        subject: string;
        /** HTML body, at most 500,000 characters; null without one */
        html?: string | null;
        /** Plain text body, at most 100,000 characters; null without one */
        text?: string | null;
      };
    };
    answer: Campaign;
  };
  /** Update a campaign */
  updateCampaign: {
    input: {
      params: {
        /** Id of the campaign */
        id: string;
      };
      body: {
        /** Display name, 1 to 200 characters */
        name?: string;
        /** List of the recipients */
        listId?: string;
        /** Subject of the mail, 1 to 500 characters; may contain templates */
        subject?: string;
        /** HTML body, at most 500,000 characters; null without one */
        html?: string | null;
        /** Plain text body, at most 100,000 characters; null without one */
        text?: string | null;
      };
    };
    answer: Campaign;
  };
  /** Delete a campaign */
  deleteCampaign: {
    input: {
      params: {
        /** Id of the campaign */
        id: string;
      };
    };
    answer: Deleted;
  };
  /** Create a workspace and its first admin */
  signUp: {
    input: {
      body: {
        /** Email address with which the member signs in, stored in lower case */
        email: string;
        /** At least 12 characters */
        password: string;
        /** Name of the new workspace, 1 to 200 characters; unique on the hub */
        workspaceName: string;
      };
    };
    answer: SignedIn;
  };
  /** Sign in */
  logIn: {
    input: {
      body: {
        /** Email address with which the member signs in, stored in lower case */
        email: string;
        /** Password of the member */
        password: string;
      };
    };
    answer: SignedIn;
  };
  /** Sign in with a one-time link */
  redeemSignInLink: {
    input: {
      body: {
        /** Code from the one-time link */
        code: string;
      };
    };
    answer: SignedIn;
  };
  /** Get the signed-in user */
  readMe: {
    input?: Record<string, never>;
    answer: {
      /** Id of the workspace */
      tenantId: string;
      /** Name of the workspace */
      workspaceName: string;
      user: MemberProfile;
    };
  };
  /** Update your profile */
  updateMe: {
    input: {
      body: UpdateProfile;
    };
    answer: {
      user: MemberProfile;
    };
  };
  /** Rename the workspace */
  renameWorkspace: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      body: RenameWorkspace;
    };
    answer: {
      /** Id of the workspace */
      id: string;
      /** The new name */
      name: string;
    };
  };
  /** Sign out */
  logOut: {
    input?: Record<string, never>;
    answer: {
      /** Always true: the session ended */
      signedOut: true;
    };
  };
  /** Change your password */
  changePassword: {
    input: {
      body: ChangePassword;
    };
    answer: {
      /** Always true: the new password is valid now */
      changed: true;
    };
  };
  /** Add a member */
  addMember: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      body: {
        /** Email address with which the member signs in, stored in lower case */
        email: string;
        /** At least 12 characters */
        password: string;
        /** `admin` manages the workspace; `agent` works in it */
        role?: 'admin' | 'agent';
      };
    };
    answer: {
      /** Id of the new member */
      id: string;
      /** Email address with which the member signs in */
      email: string;
      /** `admin` manages the workspace; `agent` works in it */
      role: 'admin' | 'agent';
      /** ISO 8601, UTC, with milliseconds */
      createdAt: string;
    };
  };
  /** List members */
  listMembers: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
      };
    };
    answer: MemberPage;
  };
  /** Change the role of a member */
  changeMember: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the member */
        userId: string;
      };
      body: {
        /** `admin` or `agent` */
        role: 'admin' | 'agent';
      };
    };
    answer: {
      /** Id of the member */
      id: string;
      /** Email address with which the member signs in */
      email: string;
      /** `admin` manages the workspace; `agent` works in it */
      role: 'admin' | 'agent';
      /** ISO 8601, UTC, with milliseconds */
      createdAt: string;
    };
  };
  /** Remove a member */
  removeMember: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the member */
        userId: string;
      };
      query?: {
        /** `true` also revokes the API keys that the member created */
        revokeKeys?: 'true' | 'false';
      };
    };
    answer: RemovedMember;
  };
  /** Get the calling API key */
  readToken: {
    input?: Record<string, never>;
    answer: OwnToken;
  };
  /** Create an API key */
  createApiToken: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      body: CreateApiToken;
    };
    answer: CreatedApiToken;
  };
  /** List API keys */
  listApiTokens: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
      };
    };
    answer: ApiTokenPage;
  };
  /** Revoke an API key */
  deleteApiToken: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the API token */
        id: string;
      };
    };
    answer: Deleted;
  };
  /** Get the entitlements of the workspace */
  readEntitlements: {
    input?: Record<string, never>;
    answer: Entitlements;
  };
  /** Set the entitlements of a workspace (platform admin key) */
  putEntitlements: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      body: {
        /** Live Chat: widget, inbox and API */
        conversations_suite?: boolean;
        /** AI answers, suggestions and AI runs */
        ai_agent?: boolean;
        /** Workflows, companion nodes and everything else in Automations */
        automations?: boolean;
        /** Call records and SIP */
        business_calling?: boolean;
        /** Skills that send email */
        business_email?: boolean;
        /** Contact lists and campaigns */
        marketing?: boolean;
        /** Voice conversations with the AI agent; also requires `ai_agent` */
        business_phone?: boolean;
      };
    };
    answer: Entitlements;
  };
  /** List allowed browser origins */
  getAllowedOrigins: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
    };
    answer: AllowedOrigins;
  };
  /** Set allowed browser origins */
  putAllowedOrigins: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      body: AllowedOriginsInput;
    };
    answer: AllowedOrigins;
  };
  /** Request a password reset by mail */
  requestPasswordReset: {
    input: {
      body: RequestPasswordReset;
    };
    answer: PasswordResetRequested;
  };
  /** Set a new password with a reset token */
  resetPassword: {
    input: {
      body: ResetPassword;
    };
    answer: PasswordReset;
  };
  /** Invite a member by link */
  inviteMember: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      body: InviteMember;
    };
    answer: NewInvitation;
  };
  /** List open invitations */
  listInvitations: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
      };
    };
    answer: InvitationPage;
  };
  /** Revoke an invitation */
  revokeInvitation: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the invitation */
        id: string;
      };
    };
    answer: Deleted;
  };
  /** Accept an invitation */
  acceptInvitation: {
    input: {
      body: AcceptInvitation;
    };
    answer: SignedIn;
  };
  /** List your sessions */
  listOwnSessions: {
    input?: {
      query?: {
        /** Maximum number of items in the response */
        limit?: number;
        /** `meta.nextCursor` of the previous page */
        cursor?: string;
      };
    };
    answer: OwnSessionPage;
  };
  /** End all your other sessions */
  endOtherOwnSessions: {
    input?: Record<string, never>;
    answer: EndedSessions;
  };
  /** End one of your sessions */
  endOwnSession: {
    input: {
      params: {
        /** Id of the session */
        id: string;
      };
    };
    answer: Deleted;
  };
  /** Get your push notifications */
  readPushState: {
    input?: Record<string, never>;
    answer: PushState;
  };
  /** Subscribe a browser to push notifications */
  createPushSubscription: {
    input: {
      body: CreatePushSubscription;
    };
    answer: PushSubscription;
  };
  /** Renew the push notifications of a browser */
  renewPushSubscription: {
    input: {
      body: RenewPushSubscription;
    };
    answer: PushSubscription;
  };
  /** Remove a browser from push notifications */
  deletePushSubscription: {
    input: {
      params: {
        /** Id of the push subscription */
        id: string;
      };
    };
    answer: Deleted;
  };
  /** List your saved filters */
  readSavedFilters: {
    input?: Record<string, never>;
    answer: SavedFilters;
  };
  /** Save a filter */
  saveFilter: {
    input: {
      body: SaveFilter;
    };
    answer: SavedFilter;
  };
  /** Delete a saved filter */
  deleteSavedFilter: {
    input: {
      params: {
        /** Id of the saved filter */
        id: string;
      };
    };
    answer: Deleted;
  };
  /** Check that the process is alive */
  readHealth: {
    input?: Record<string, never>;
    answer: {
      /** Always `ok` */
      status: 'ok';
      /** Version of the hub */
      version: string;
      /** Seconds since the process started */
      uptimeSeconds: number;
    };
  };
  /** Check that the hub can accept work */
  readReadiness: {
    input?: Record<string, never>;
    answer: {
      /** `degraded`: serves requests without some parts; `not_ready`: should receive no requests */
      status: 'ready' | 'degraded' | 'not_ready';
      /** State of each part of the hub, by name */
      parts: JsonObject;
    };
  };
}

export type OperationId = keyof Operations;

/** Method and path of each operation. */
export const operations: { readonly [Id in OperationId]: readonly [method: string, path: string] } = {
  createChatSession: ['POST', '/v1/chat/sessions'],
  listChatConversations: ['GET', '/v1/chat/conversations'],
  createChatConversation: ['POST', '/v1/chat/conversations'],
  listChatMessages: ['GET', '/v1/chat/conversations/{id}/messages'],
  sendChatMessage: ['POST', '/v1/chat/conversations/{id}/messages'],
  listChatVisitors: ['GET', '/v1/chat/visitors'],
  listInboxConversations: ['GET', '/tenants/{tenantId}/chat/conversations'],
  startInboxConversation: ['POST', '/tenants/{tenantId}/chat/conversations'],
  countInboxConversations: ['GET', '/tenants/{tenantId}/chat/counts'],
  changeInboxConversations: ['POST', '/tenants/{tenantId}/chat/conversations/bulk'],
  getInboxConversation: ['GET', '/tenants/{tenantId}/chat/conversations/{id}'],
  updateInboxConversation: ['PATCH', '/tenants/{tenantId}/chat/conversations/{id}'],
  assignInboxConversation: ['POST', '/tenants/{tenantId}/chat/conversations/{id}/assign'],
  listInboxMessages: ['GET', '/tenants/{tenantId}/chat/conversations/{id}/messages'],
  sendInboxMessage: ['POST', '/tenants/{tenantId}/chat/conversations/{id}/messages'],
  readInboxConversation: ['POST', '/tenants/{tenantId}/chat/conversations/{id}/read'],
  showInboxActivity: ['POST', '/tenants/{tenantId}/chat/conversations/{id}/activity'],
  putInboxDraft: ['PUT', '/tenants/{tenantId}/chat/conversations/{id}/draft'],
  revokeInboxLinks: ['POST', '/tenants/{tenantId}/chat/conversations/{id}/revoke-links'],
  listCannedReplies: ['GET', '/tenants/{tenantId}/chat/canned-replies'],
  createCannedReply: ['POST', '/tenants/{tenantId}/chat/canned-replies'],
  updateCannedReply: ['PATCH', '/tenants/{tenantId}/chat/canned-replies/{id}'],
  deleteCannedReply: ['DELETE', '/tenants/{tenantId}/chat/canned-replies/{id}'],
  listChatAgents: ['GET', '/tenants/{tenantId}/chat/agents'],
  setChatPresence: ['PUT', '/tenants/{tenantId}/chat/presence'],
  uploadInboxFile: ['POST', '/tenants/{tenantId}/chat/conversations/{id}/files'],
  getInboxFile: ['GET', '/tenants/{tenantId}/chat/files/{id}'],
  uploadVisitorFile: ['POST', '/widget/v1/files'],
  getVisitorFile: ['GET', '/widget/v1/files/{id}'],
  searchInbox: ['GET', '/tenants/{tenantId}/chat/search'],
  listInboxVisitors: ['GET', '/tenants/{tenantId}/chat/visitors'],
  getInboxVisitor: ['GET', '/tenants/{tenantId}/chat/visitors/{id}'],
  updateInboxVisitor: ['PATCH', '/tenants/{tenantId}/chat/visitors/{id}'],
  eraseInboxVisitor: ['DELETE', '/tenants/{tenantId}/chat/visitors/{id}'],
  blockInboxVisitor: ['POST', '/tenants/{tenantId}/chat/visitors/{id}/block'],
  unblockInboxVisitor: ['POST', '/tenants/{tenantId}/chat/visitors/{id}/unblock'],
  exportInboxVisitor: ['GET', '/tenants/{tenantId}/chat/visitors/{id}/export'],
  listChatRatings: ['GET', '/tenants/{tenantId}/chat/ratings'],
  getChatSettings: ['GET', '/tenants/{tenantId}/chat/settings'],
  putChatSettings: ['PUT', '/tenants/{tenantId}/chat/settings'],
  putMyPicture: ['PUT', '/auth/me/picture'],
  deleteMyPicture: ['DELETE', '/auth/me/picture'],
  putMemberPicture: ['PUT', '/tenants/{tenantId}/members/{userId}/picture'],
  deleteMemberPicture: ['DELETE', '/tenants/{tenantId}/members/{userId}/picture'],
  getMemberPicture: ['GET', '/widget/v1/pictures/{id}'],
  getChatAiSettings: ['GET', '/tenants/{tenantId}/chat/ai-settings'],
  putChatAiSettings: ['PUT', '/tenants/{tenantId}/chat/ai-settings'],
  listAiSuggestions: ['GET', '/tenants/{tenantId}/chat/channels/{channelId}/ai-suggestions'],
  createAiSuggestion: ['POST', '/tenants/{tenantId}/chat/channels/{channelId}/ai-suggestion'],
  acceptAiSuggestion: ['POST', '/tenants/{tenantId}/chat/channels/{channelId}/ai-suggestions/{id}/accept'],
  getChatPage: ['GET', '/widget/v1/page'],
  openVisitorSession: ['POST', '/widget/v1/token'],
  renewVisitorSession: ['POST', '/widget/v1/renew'],
  endVisitorSession: ['POST', '/widget/v1/end'],
  getVisitorConversation: ['GET', '/widget/v1/conversation'],
  beginVisitorConversation: ['POST', '/widget/v1/conversations'],
  listVisitorMessages: ['GET', '/widget/v1/messages'],
  sendVisitorMessage: ['POST', '/widget/v1/messages'],
  readVisitorConversation: ['POST', '/widget/v1/read'],
  showVisitorTyping: ['POST', '/widget/v1/typing'],
  askForPerson: ['POST', '/widget/v1/handoff'],
  rateVisitorConversation: ['POST', '/widget/v1/rating'],
  streamVisitorEvents: ['GET', '/widget/v1/events'],
  streamInboxEvents: ['GET', '/tenants/{tenantId}/chat/events'],
  listWebhooks: ['GET', '/tenants/{tenantId}/webhooks'],
  createWebhook: ['POST', '/tenants/{tenantId}/webhooks'],
  getWebhook: ['GET', '/tenants/{tenantId}/webhooks/{id}'],
  updateWebhook: ['PATCH', '/tenants/{tenantId}/webhooks/{id}'],
  deleteWebhook: ['DELETE', '/tenants/{tenantId}/webhooks/{id}'],
  rotateWebhookSecret: ['POST', '/tenants/{tenantId}/webhooks/{id}/rotate-secret'],
  testWebhook: ['POST', '/tenants/{tenantId}/webhooks/{id}/test'],
  replayWebhook: ['POST', '/tenants/{tenantId}/webhooks/{id}/replay'],
  listWebhookDeliveries: ['GET', '/tenants/{tenantId}/webhooks/{id}/deliveries'],
  getWebhookDelivery: ['GET', '/tenants/{tenantId}/webhooks/{id}/deliveries/{deliveryId}'],
  redeliverWebhookDelivery: ['POST', '/tenants/{tenantId}/webhooks/{id}/deliveries/{deliveryId}/redeliver'],
  createAiRun: ['POST', '/v1/ai/runs'],
  listAiRuns: ['GET', '/v1/ai/runs'],
  getAiRun: ['GET', '/v1/ai/runs/{id}'],
  cancelAiRun: ['POST', '/v1/ai/runs/{id}/cancel'],
  speak: ['POST', '/tenants/{tenantId}/ai/speak'],
  streamSpeak: ['POST', '/tenants/{tenantId}/ai/speak/stream'],
  answerVoice: ['POST', '/tenants/{tenantId}/ai/voice'],
  listAutomationWorkflows: ['GET', '/v1/automations/workflows'],
  createAutomationWorkflow: ['POST', '/v1/automations/workflows'],
  getAutomationWorkflow: ['GET', '/v1/automations/workflows/{id}'],
  updateAutomationWorkflow: ['PATCH', '/v1/automations/workflows/{id}'],
  deleteAutomationWorkflow: ['DELETE', '/v1/automations/workflows/{id}'],
  listAutomationWorkflowVersions: ['GET', '/v1/automations/workflows/{id}/versions'],
  getAutomationWorkflowVersion: ['GET', '/v1/automations/workflows/{id}/versions/{version}'],
  restoreAutomationWorkflowVersion: ['POST', '/v1/automations/workflows/{id}/versions/{version}/restore'],
  runAutomationWorkflow: ['POST', '/v1/automations/workflows/{id}/run'],
  previewAutomationSchedule: ['POST', '/v1/automations/schedules/preview'],
  listAutomationsAlias: ['GET', '/v1/automations'],
  createAutomationAlias: ['POST', '/v1/automations'],
  listAutomationWorkflowSummaries: ['GET', '/v1/automations/workflow-summaries'],
  listDeletedAutomationWorkflows: ['GET', '/v1/automations/deleted-workflows'],
  restoreAutomationWorkflow: ['POST', '/v1/automations/workflows/{id}/restore'],
  listAutomationSequences: ['GET', '/v1/automations/sequences'],
  createAutomationSequence: ['POST', '/v1/automations/sequences'],
  getAutomationSequence: ['GET', '/v1/automations/sequences/{id}'],
  updateAutomationSequence: ['PATCH', '/v1/automations/sequences/{id}'],
  deleteAutomationSequence: ['DELETE', '/v1/automations/sequences/{id}'],
  runAutomationSequence: ['POST', '/v1/automations/sequences/{id}/run'],
  listAutomationRuns: ['GET', '/v1/automations/runs'],
  estimateAutomationRuns: ['GET', '/v1/automations/run-estimate'],
  cancelAutomationRuns: ['POST', '/v1/automations/runs/cancel'],
  retryAutomationRuns: ['POST', '/v1/automations/runs/retry'],
  getAutomationRun: ['GET', '/v1/automations/runs/{id}'],
  getAutomationRunStep: ['GET', '/v1/automations/runs/{id}/steps/{index}'],
  listAutomationRunArtifacts: ['GET', '/v1/automations/runs/{id}/artifacts'],
  cancelAutomationRun: ['POST', '/v1/automations/runs/{id}/cancel'],
  retryAutomationRun: ['POST', '/v1/automations/runs/{id}/retry'],
  replayAutomationRun: ['POST', '/v1/automations/runs/{id}/replay'],
  streamAutomationRun: ['GET', '/v1/automations/runs/{id}/events'],
  listAutomationFlows: ['GET', '/v1/automations/flows'],
  getAutomationFlow: ['GET', '/v1/automations/flows/{id}'],
  inboundAutomationHook: ['POST', '/v1/automations/hooks/inbound'],
  listAutomationApprovals: ['GET', '/v1/automations/approvals'],
  listAutomationApprovalSummaries: ['GET', '/v1/automations/approval-summaries'],
  getAutomationApproval: ['GET', '/v1/automations/approvals/{id}'],
  decideAutomationApproval: ['POST', '/v1/automations/approvals/{id}/decide'],
  getAutomationPolicy: ['GET', '/v1/automations/policies'],
  putAutomationPolicy: ['PUT', '/v1/automations/policies'],
  listAutomationAgents: ['GET', '/v1/automations/agents'],
  createAutomationAgent: ['POST', '/v1/automations/agents'],
  getAutomationAgent: ['GET', '/v1/automations/agents/{id}'],
  updateAutomationAgent: ['PATCH', '/v1/automations/agents/{id}'],
  deleteAutomationAgent: ['DELETE', '/v1/automations/agents/{id}'],
  listAutomationToolProfiles: ['GET', '/v1/automations/tool-profiles'],
  putAutomationToolProfile: ['POST', '/v1/automations/tool-profiles'],
  getAutomationToolProfile: ['GET', '/v1/automations/tool-profiles/{id}'],
  deleteAutomationToolProfile: ['DELETE', '/v1/automations/tool-profiles/{id}'],
  getAutomationModels: ['GET', '/v1/automations/models'],
  putAutomationModels: ['PUT', '/v1/automations/models'],
  testAutomationModel: ['POST', '/v1/automations/models/{modelId}/test'],
  getKnowledge: ['GET', '/tenants/{tenantId}/ai/knowledge'],
  putKnowledge: ['PUT', '/tenants/{tenantId}/ai/knowledge'],
  searchKnowledge: ['POST', '/tenants/{tenantId}/ai/knowledge/search'],
  listUnansweredQuestions: ['GET', '/tenants/{tenantId}/ai/knowledge/unanswered'],
  dismissUnansweredQuestion: ['DELETE', '/tenants/{tenantId}/ai/knowledge/unanswered/{id}'],
  getAiUsage: ['GET', '/tenants/{tenantId}/ai/usage'],
  getAiBudget: ['GET', '/tenants/{tenantId}/ai/budget'],
  putAiBudget: ['PUT', '/tenants/{tenantId}/ai/budget'],
  listAutomationSessions: ['GET', '/v1/automations/sessions'],
  createAutomationSession: ['POST', '/v1/automations/sessions'],
  getAutomationSession: ['GET', '/v1/automations/sessions/{id}'],
  appendAutomationSessionMessage: ['POST', '/v1/automations/sessions/{id}/messages'],
  listAutomationMemory: ['GET', '/v1/automations/memory'],
  putAutomationMemory: ['PUT', '/v1/automations/memory'],
  listAutomationChannels: ['GET', '/v1/automations/channels'],
  putAutomationChannel: ['POST', '/v1/automations/channels'],
  getAutomationChannel: ['GET', '/v1/automations/channels/{id}'],
  deleteAutomationChannel: ['DELETE', '/v1/automations/channels/{id}'],
  receiveAutomationChannelMessage: ['POST', '/v1/automations/channels/{id}/inbound'],
  verifyAutomationChannel: ['GET', '/v1/automations/channels/{id}/inbound'],
  listAutomationMessages: ['GET', '/v1/automations/messages'],
  listAutomationLogs: ['GET', '/v1/automations/logs'],
  downloadAutomationRunLogs: ['GET', '/v1/automations/runs/{id}/logs/download'],
  streamAutomationMessages: ['GET', '/v1/automations/messages/live'],
  streamAutomationLogs: ['GET', '/v1/automations/logs/live'],
  listAutomationSkillCatalog: ['GET', '/v1/automations/skills/catalog'],
  runAutomationSkill: ['POST', '/v1/automations/skills/{skillId}/run'],
  listAutomationSkills: ['GET', '/v1/automations/skills'],
  getAutomationSkillPack: ['GET', '/v1/automations/packs/{packId}'],
  installAutomationSkill: ['POST', '/v1/automations/skills/install'],
  createAutomationSkillWorkflow: ['POST', '/v1/automations/skills/{packId}/workflow'],
  getAutomationSkillSdk: ['GET', '/v1/automations/skills/sdk'],
  postAutomationSkillSdk: ['POST', '/v1/automations/skills/sdk'],
  listHubPacks: ['GET', '/platform/packs'],
  publishHubPack: ['POST', '/platform/packs'],
  withdrawHubPack: ['DELETE', '/platform/packs/{packId}/versions/{version}'],
  getAutomationSlo: ['GET', '/v1/automations/slo'],
  getAutomationOnboarding: ['GET', '/v1/automations/onboarding'],
  listAutomationNodes: ['GET', '/v1/automations/nodes'],
  createAutomationNode: ['POST', '/v1/automations/nodes'],
  claimAutomationNode: ['POST', '/v1/automations/nodes/claim'],
  proveAutomationHub: ['POST', '/v1/automations/nodes/{id}/hub-proof'],
  getAutomationNode: ['GET', '/v1/automations/nodes/{id}'],
  updateAutomationNode: ['PATCH', '/v1/automations/nodes/{id}'],
  deleteAutomationNode: ['DELETE', '/v1/automations/nodes/{id}'],
  unpairAutomationNode: ['DELETE', '/v1/automations/nodes/{id}/pairing'],
  listAutomationNodeCommands: ['GET', '/v1/automations/nodes/{id}/command-history'],
  listAutomationNodeFacts: ['GET', '/v1/automations/nodes/{id}/facts'],
  heartbeatAutomationNode: ['POST', '/v1/automations/nodes/{id}/heartbeat'],
  pollAutomationNodeCommands: ['GET', '/v1/automations/nodes/{id}/commands'],
  completeAutomationNodeCommand: ['POST', '/v1/automations/nodes/{id}/commands/{commandId}/result'],
  readAutomationNodeUpload: ['GET', '/v1/automations/nodes/{id}/commands/{commandId}/artifacts/{name}'],
  uploadAutomationNodeArtifact: ['PUT', '/v1/automations/nodes/{id}/commands/{commandId}/artifacts/{name}'],
  getAutomationArtifact: ['GET', '/v1/automations/artifacts/{id}'],
  readAutomationCommandFile: ['GET', '/v1/automations/nodes/{id}/commands/{commandId}/files/{artifactId}'],
  listVoiceCalls: ['GET', '/v1/voice/calls'],
  getVoiceCall: ['GET', '/v1/voice/calls/{id}'],
  getVoiceUsage: ['GET', '/v1/voice/usage'],
  listVoiceNumbers: ['GET', '/v1/voice/numbers'],
  listCalls: ['GET', '/calls'],
  getCallSummary: ['GET', '/calls/summary'],
  exportCalls: ['GET', '/calls/export'],
  streamCalls: ['GET', '/calls/live'],
  listCallConnections: ['GET', '/calls/connections'],
  createCallConnection: ['POST', '/calls/connections'],
  getCallConnection: ['GET', '/calls/connections/{id}'],
  updateCallConnection: ['PATCH', '/calls/connections/{id}'],
  deleteCallConnection: ['DELETE', '/calls/connections/{id}'],
  rotateCallConnection: ['POST', '/calls/connections/{id}/rotate'],
  receiveCarrierEvent: ['POST', '/carrier/{provider}/{connectionId}/voice-status'],
  registerOwnTrunk: ['POST', '/sip/register'],
  getSipStatus: ['GET', '/sip/status'],
  removeOwnTrunk: ['DELETE', '/sip'],
  getHostedSip: ['GET', '/sip/our-sip'],
  optIntoHostedSip: ['POST', '/sip/our-sip/opt-in'],
  optOutOfHostedSip: ['POST', '/sip/our-sip/opt-out'],
  growthListWorkflows: ['GET', '/growth/automations/workflows'],
  growthCreateWorkflow: ['POST', '/growth/automations/workflows'],
  growthRunWorkflow: ['POST', '/growth/automations/workflows/{id}/run'],
  growthListSequences: ['GET', '/growth/automations/sequences'],
  growthCreateSequence: ['POST', '/growth/automations/sequences'],
  growthListAgents: ['GET', '/growth/automations/agents'],
  growthCreateAgent: ['POST', '/growth/automations/agents'],
  growthDecideApproval: ['POST', '/growth/automations/approvals/{id}/decide'],
  growthPutPolicy: ['PUT', '/growth/automations/policies'],
  growthListRuns: ['GET', '/growth/automations/runs'],
  growthListSessions: ['GET', '/growth/automations/sessions'],
  growthListApprovals: ['GET', '/growth/automations/approvals'],
  growthListChannels: ['GET', '/growth/automations/channels'],
  growthConsole: ['GET', '/growth/automations/console'],
  growthCreateApprovalLinks: ['POST', '/growth/automations/approvals/{id}/links'],
  growthUpdateResource: ['PATCH', '/growth/automations/{resource}/{id}'],
  growthDeleteResource: ['DELETE', '/growth/automations/{resource}/{id}'],
  searchWorkspace: ['GET', '/tenants/{tenantId}/search'],
  listAuditLog: ['GET', '/tenants/{tenantId}/audit'],
  listUsageEvents: ['GET', '/tenants/{tenantId}/usage-events'],
  getUsageTotals: ['GET', '/tenants/{tenantId}/usage-totals'],
  streamWorkspaceEvents: ['GET', '/tenants/{tenantId}/events'],
  listContactLists: ['GET', '/growth/marketing/lists'],
  createContactList: ['POST', '/growth/marketing/lists'],
  deleteContactList: ['DELETE', '/growth/marketing/lists/{id}'],
  listContacts: ['GET', '/growth/marketing/lists/{id}/contacts'],
  addContacts: ['POST', '/growth/marketing/lists/{id}/contacts'],
  deleteContact: ['DELETE', '/growth/marketing/contacts/{id}'],
  listCampaigns: ['GET', '/growth/marketing/campaigns'],
  createCampaign: ['POST', '/growth/marketing/campaigns'],
  updateCampaign: ['PATCH', '/growth/marketing/campaigns/{id}'],
  deleteCampaign: ['DELETE', '/growth/marketing/campaigns/{id}'],
  signUp: ['POST', '/auth/signup'],
  logIn: ['POST', '/auth/login'],
  redeemSignInLink: ['POST', '/auth/link'],
  readMe: ['GET', '/auth/me'],
  updateMe: ['PATCH', '/auth/me'],
  renameWorkspace: ['PATCH', '/tenants/{tenantId}'],
  logOut: ['POST', '/auth/logout'],
  changePassword: ['POST', '/auth/password'],
  addMember: ['POST', '/tenants/{tenantId}/members'],
  listMembers: ['GET', '/tenants/{tenantId}/members'],
  changeMember: ['PATCH', '/tenants/{tenantId}/members/{userId}'],
  removeMember: ['DELETE', '/tenants/{tenantId}/members/{userId}'],
  readToken: ['GET', '/v1/me'],
  createApiToken: ['POST', '/tenants/{tenantId}/tokens'],
  listApiTokens: ['GET', '/tenants/{tenantId}/tokens'],
  deleteApiToken: ['DELETE', '/tenants/{tenantId}/tokens/{id}'],
  readEntitlements: ['GET', '/growth/entitlements'],
  putEntitlements: ['PUT', '/tenants/{tenantId}/entitlements'],
  getAllowedOrigins: ['GET', '/tenants/{tenantId}/allowed-origins'],
  putAllowedOrigins: ['PUT', '/tenants/{tenantId}/allowed-origins'],
  requestPasswordReset: ['POST', '/auth/password/reset-request'],
  resetPassword: ['POST', '/auth/password/reset'],
  inviteMember: ['POST', '/tenants/{tenantId}/invitations'],
  listInvitations: ['GET', '/tenants/{tenantId}/invitations'],
  revokeInvitation: ['DELETE', '/tenants/{tenantId}/invitations/{id}'],
  acceptInvitation: ['POST', '/auth/invitation'],
  listOwnSessions: ['GET', '/auth/sessions'],
  endOtherOwnSessions: ['DELETE', '/auth/sessions'],
  endOwnSession: ['DELETE', '/auth/sessions/{id}'],
  readPushState: ['GET', '/auth/me/push'],
  createPushSubscription: ['POST', '/auth/me/push-subscriptions'],
  renewPushSubscription: ['POST', '/auth/me/push-subscriptions/renew'],
  deletePushSubscription: ['DELETE', '/auth/me/push-subscriptions/{id}'],
  readSavedFilters: ['GET', '/auth/me/filters'],
  saveFilter: ['PUT', '/auth/me/filters'],
  deleteSavedFilter: ['DELETE', '/auth/me/filters/{id}'],
  readHealth: ['GET', '/healthz'],
  readReadiness: ['GET', '/readyz'],
};
