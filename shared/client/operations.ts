// Written by npm run openapi from the contract; change that instead.

export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue;
}

/** An answer that is no JSON: to be read with `open`. */
export interface Bytes {
  readonly bytes: unique symbol;
}

export interface Agent {
  /** Id of the AI agent */
  id: string;
  /** Label for people, at most 200 characters */
  name: string;
  /** Instructions for the model, at most 50,000 characters */
  systemPrompt: string;
  /** Profile that says which skills the agent may call; null for none */
  toolProfileId: string | null;
  /** Keys that route inbound messages to this agent, at most 50 */
  routeKeys: string[];
  /** Id of a model of the workspace; the failover order when null */
  model: string | null;
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
  /** A member came online, went away or went offline */
  type: 'presence';
  /** Member whose presence changed */
  userId: string;
  /** `offline` without a live connection for 30 seconds */
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
  /** Lets an AI agent work on a prompt */
  type: 'agent';
  /** Whose system prompt, model and tools; a plain one when left out */
  agentId?: string;
  /** Task for the agent, at most 50,000 characters; may hold templates */
  prompt: string;
  /** Which skills it may call; the agent's own profile when left out, and none without either */
  toolProfileId?: string;
  /** Calls of the model, at most; 1 to 50 */
  maxTurns: number;
  /** Tokens in all, in and out */
  maxTokens?: number;
  /** The session whose transcript it continues; that of the inbound message when left out */
  sessionId?: string;
  /** Later steps refer to it as {{steps.<id>.output}} */
  id?: string;
  /** Label for people, at most 200 characters */
  name?: string;
  /** A template; the step is skipped unless it renders to something truthy */
  when?: string;
  /** Whether the run goes on when the step fails after all tries; default false */
  continueOnError?: boolean;
  /** How failed tries are repeated; the retry policy of the skill when left out */
  retry?: {
    /** Tries in all */
    maxAttempts: number;
    /** Before the second try */
    backoffSeconds: number;
    /** By which each further wait grows */
    factor: number;
  };
  /** Waits so long before the step begins; no worker is held */
  delaySeconds?: number;
  /** For each try */
  timeoutSeconds?: number;
}

export interface AgentStepInput {
  /** Lets an AI agent work on a prompt */
  type: 'agent';
  /** Whose system prompt, model and tools; a plain one when left out */
  agentId?: string;
  /** Task for the agent, at most 50,000 characters; may hold templates */
  prompt: string;
  /** Which skills it may call; the agent's own profile when left out, and none without either */
  toolProfileId?: string;
  /** Calls of the model, at most; 1 to 50 */
  maxTurns?: number;
  /** Tokens in all, in and out */
  maxTokens?: number;
  /** The session whose transcript it continues; that of the inbound message when left out */
  sessionId?: string;
  /** Later steps refer to it as {{steps.<id>.output}} */
  id?: string;
  /** Label for people, at most 200 characters */
  name?: string;
  /** A template; the step is skipped unless it renders to something truthy */
  when?: string;
  /** Whether the run goes on when the step fails after all tries; default false */
  continueOnError?: boolean;
  /** How failed tries are repeated; the retry policy of the skill when left out */
  retry?: {
    /** Tries in all */
    maxAttempts: number;
    /** Before the second try */
    backoffSeconds?: number;
    /** By which each further wait grows */
    factor?: number;
  };
  /** Waits so long before the step begins; no worker is held */
  delaySeconds?: number;
  /** For each try */
  timeoutSeconds?: number;
}

/** The AI agent suggests a reply; the list of suggestions has it */
export interface AgentSuggestionFrame {
  /** The AI agent suggests a reply */
  type: 'suggestion';
  /** Conversation that the suggestion is for */
  conversationId: string;
  /** Id of the suggestion */
  id: string;
}

/** Every 15 seconds: the conversations that changed in the last 45 */
export interface AgentSyncFrame {
  /** Regular list of changes, so that the client notices missed frames */
  type: 'sync';
  /** ISO 8601, UTC, with milliseconds */
  at: string;
  /** Conversations that changed in the last 45 seconds */
  changed: {
    /** Id of the conversation */
    id: string;
    /** `position` of what was written last, notes included */
    lastPosition: number;
    /** Status of the conversation */
    status: string;
    /** ISO 8601, UTC, with milliseconds */
    updatedAt: string;
  }[];
  /** False where more changed than are named: look at the lists again */
  complete: boolean;
}

export interface AgentTypingFrame {
  /** Someone started or stopped typing */
  type: 'typing';
  /** Conversation in which they type */
  conversationId: string;
  /** `visitor`, `agent` for a member, or `ai` for the AI agent */
  who: 'visitor' | 'agent' | 'ai';
  /** Member who types; null for others */
  userId: string | null;
  /** False when typing stopped */
  typing: boolean;
}

export interface AgentViewersFrame {
  /** Members began or stopped viewing a conversation */
  type: 'viewers';
  /** Conversation that is viewed */
  conversationId: string;
  /** Members who view it now */
  userIds: string[];
}

export interface AiBudget {
  /** Tokens in and out of a day, UTC; null for no limit */
  dailyTokens: number | null;
  /** Cost of a day, UTC, of the calls of models with prices in this currency; null for no limit */
  dailyCost: {
    /** Currency code of ISO 4217, such as `USD` */
    currency: string;
    /** Millionths of the currency */
    micros: number;
  } | null;
  /** Seconds of sound that are transcribed in a day, UTC: the lower of the limits of workspace and hub */
  dailySpeechSeconds: number;
  /** Characters that are spoken in a day, UTC: the lower of the limits of workspace and hub */
  dailySpeechCharacters: number;
  /** Today */
  used: {
    /** Today, UTC */
    day: string;
    /** Tokens in and out so far today */
    tokens: number;
    /** One for each currency */
    costs: {
      /** Currency code of ISO 4217, such as `USD` */
      currency: string;
      /** Millionths of the currency */
      micros: number;
    }[];
    /** Used of the limit that is nearer, 1 for all of it; null without one */
    share: number | null;
    /** Seconds of sound that were transcribed */
    speechSeconds: number;
    /** Characters that were spoken */
    speechCharacters: number;
  };
  /** Whether calls are refused until `resetsAt` */
  isUsedUp: boolean;
  /** Models that `dailyCost` does not bound: without prices, with 0 or in another currency */
  modelsWithoutCostLimit: string[];
  /** ISO 8601, UTC, with milliseconds */
  resetsAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string | null;
}

export interface AiRun {
  /** Id of the AI run */
  id: string;
  /** `failed` when no model answered; see `error` */
  status: 'succeeded' | 'failed';
  /** Markdown without pictures and HTML; an address stands in it only where it is one of the knowledge, the terms or the input. Null when it failed */
  outputText: string | null;
  /** Input as it was sent */
  input: string;
  /** Context as it was sent; null without one */
  context: string | null;
  /** Metadata as it was sent; empty without any */
  metadata: JsonObject;
  /** Kind of the answer; always `text` */
  mode: 'text';
  /** Requested language of the answer, by BCP 47; null when none was requested */
  locale: string | null;
  /** That of the key; a run of a test key asks the same models */
  environment: 'live' | 'test';
  /** The one that answered; null when none did */
  model: string | null;
  /** Every call of a model, in their order */
  attempts: {
    /** Id among the models of the workspace; null for the hub's own model */
    modelId?: string | null;
    /** As the provider names it */
    model: string;
    /** Duration of the call in milliseconds */
    ms: number;
    /** What came of it, such as answered, timeout or http_429 */
    outcome: string;
    /** What the provider said about the key, the account or the model, without secrets */
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
  /** Whether something was left out before the model, or its answer ended at 1,024 tokens */
  truncated: boolean;
  /** What was left out, in words */
  truncation: string | null;
  /** Ids of the entries of the knowledge that the model was given */
  sources: string[];
  /** Why the run failed; null when it succeeded */
  error: {
    /** Stable code, for programs */
    code: string;
    /** What went wrong and what to do, for people */
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
  /** Conversation that it is for */
  conversationId: string;
  /** What could be replied; empty where it would hand over or not reply at all */
  content: string;
  /** What the AI agent would do: reply, ask back, hand over to a person, or do nothing */
  action: 'answer' | 'clarify' | 'handoff' | 'ignore';
  /** Why, in the words of the model */
  reason: string;
  /** Entries of the knowledge that the text is based on */
  sources: ChatMessageSource[];
  /** What was called for it, in that order; what acts is not offered */
  tools: ChatAiToolUse[];
  /** The newest message that it knows */
  seq: number;
  /** Whether an agent asked for it */
  origin: 'asked' | 'shadow';
  /** ISO 8601, UTC, with milliseconds */
  acceptedAt: string | null;
  /** A member */
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
  /** By day, the newest first, then by model; days without a call are left out */
  data: {
    /** Day in UTC, `YYYY-MM-DD` */
    day: string;
    /** Of the models of the workspace; null for the one of the hub */
    modelId: string | null;
    /** As its provider names it */
    model: string;
    /** Calls of models, each try for itself */
    calls: number;
    /** Those that brought no answer */
    failedCalls: number;
    /** Those of which the provider said no tokens, because they were broken off or it counts none */
    estimatedCalls: number;
    /** Tokens that were sent to models */
    inputTokens: number;
    /** Tokens that models wrote */
    outputTokens: number;
    /** Null where no prices were set */
    cost: {
      /** Currency code of ISO 4217, such as `USD` */
      currency: string;
      /** Millionths of the currency */
      micros: number;
    } | null;
  }[];
  /** Seconds of sound that were transcribed and characters that were spoken, by day, the newest first */
  speech: {
    /** Day in UTC, `YYYY-MM-DD` */
    day: string;
    /** Seconds of sound that were transcribed */
    seconds: number;
    /** Characters that were spoken */
    characters: number;
  }[];
  /** Sums over all days and models of the report */
  totals: {
    /** Calls of models, each try for itself */
    calls: number;
    /** Those that brought no answer */
    failedCalls: number;
    /** Those of which the provider said no tokens, because they were broken off or it counts none */
    estimatedCalls: number;
    /** Tokens that were sent to models */
    inputTokens: number;
    /** Tokens that models wrote */
    outputTokens: number;
    /** One for each currency */
    costs: {
      /** Currency code of ISO 4217, such as `USD` */
      currency: string;
      /** Millionths of the currency */
      micros: number;
    }[];
  };
}

export interface AllowedOrigins {
  /** Origins whose pages may call this workspace from a browser */
  origins: string[];
}

export interface AllowedOriginsInput {
  /** Origins whose pages may call this workspace from a browser */
  origins: string[];
}

export interface ApiToken {
  /** Id of the key */
  id: string;
  /** Label for people, at most 200 characters */
  name: string;
  /** Product whose API the key can call */
  product: 'chat' | 'ai' | 'automations' | 'voice';
  /** `test` keys of Live Chat see and change test visitors and conversations only. `test` keys of Automations share the data of the workspace: their runs are test runs, whose mails, channel messages and webhooks are recorded as simulated and not sent, and they cannot change live workflows, live runs, their approvals, or what live runs use (sequences, agents, tool profiles, channels, nodes, models, the policy). Commands of nodes and calls of models are real in both environments */
  environment: 'live' | 'test';
  /** What the key may do */
  permissions: ('chat:write' | 'chat:read' | 'visitors:read' | 'webhooks:manage' | 'ai:invoke' | 'ai:speak' | 'ai:voice' | 'knowledge:manage' | 'usage:read' | 'automations:manage' | 'automations:read' | 'automations:run' | 'approvals:decide' | 'voice:read' | 'voice:export' | 'connections:manage')[];
  /** The key without its secret */
  keyHint: string;
  /** CIDR blocks or addresses that may use the key; every address when empty */
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
  /** What exactly is asked for; for system.run the node, argv, cwd, env, stdin and time limit */
  request: JsonValue;
  /** SHA-256 of what a decision binds: what runs is what was approved, or a new approval is asked for */
  requestHash: string;
  /** `pending` until it is decided or expires */
  status: 'pending' | 'approved' | 'rejected' | 'expired';
  /** Who alone may decide; empty when every caller with the permission may */
  approvers: string[];
  /** How many of them must agree */
  required: number;
  /** Decisions of single approvers, oldest first */
  votes: {
    /** Email address of the approver */
    approver: string;
    /** Who decided on behalf of the approver; null for decisions before this was recorded */
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
  /** The actor as in the audit log, such as `user:<id>` */
  decidedBy: string | null;
  /** Null while nothing is decided */
  decider: ApprovalDecider | null;
  /** ISO 8601, UTC, with milliseconds */
  decidedAt: string | null;
  /** Reason of the final decision; null without one */
  note: string | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
}

export interface ApprovalDecider {
  /** A mail link counts as the person it was mailed to */
  kind: 'user' | 'key' | 'mail_link' | 'time_out' | 'run_end';
  /** The id of the user or API key, or the address that the link was mailed to */
  id: string | null;
  /** A user's email address or an API key's name, as they were then */
  name: string;
}

export interface ApprovalEvent {
  /** An approval was requested or decided */
  type: 'approval';
  /** When it happened */
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

export interface ApprovalPage {
  /** Rows of this page, at most `meta.limit` */
  data: Approval[];
  meta: PageMeta;
}

export interface ApprovalStep {
  /** Waits until a person approves */
  type: 'approval';
  /** Question for the approver, at most 200 characters; may hold templates */
  title: string;
  /** Details for the approver, at most 10,000 characters; may hold templates */
  message: string;
  /** No expiry when left out */
  expiresInSeconds?: number;
  /** Decision that is taken when the approval expires */
  onTimeout: 'reject' | 'approve';
  /** Email addresses of the people who may decide, by a link of their own or signed in; whoever manages automations when left out */
  approvers?: JsonValue[];
  /** How many of the approvers must agree; one who rejects is enough */
  required: number;
  /** From then on those in escalateTo may decide as well */
  escalateAfterSeconds?: number;
  /** Email addresses of further approvers, 1 to 50, from `escalateAfterSeconds` on */
  escalateTo?: JsonValue[];
  /** Later steps refer to it as {{steps.<id>.output}} */
  id?: string;
  /** Label for people, at most 200 characters */
  name?: string;
  /** A template; the step is skipped unless it renders to something truthy */
  when?: string;
  /** Whether the run goes on when the step fails after all tries; default false */
  continueOnError?: boolean;
  /** How failed tries are repeated; the retry policy of the skill when left out */
  retry?: {
    /** Tries in all */
    maxAttempts: number;
    /** Before the second try */
    backoffSeconds: number;
    /** By which each further wait grows */
    factor: number;
  };
  /** Waits so long before the step begins; no worker is held */
  delaySeconds?: number;
  /** Without effect, and refused when steps are saved; set expiresInSeconds */
  timeoutSeconds?: number;
}

export interface ApprovalStepInput {
  /** Waits until a person approves */
  type: 'approval';
  /** Question for the approver, at most 200 characters; may hold templates */
  title: string;
  /** Details for the approver, at most 10,000 characters; may hold templates */
  message?: string;
  /** No expiry when left out */
  expiresInSeconds?: number;
  /** Decision that is taken when the approval expires */
  onTimeout?: 'reject' | 'approve';
  /** Email addresses of the people who may decide, by a link of their own or signed in; whoever manages automations when left out */
  approvers?: string[];
  /** How many of the approvers must agree; one who rejects is enough */
  required?: number;
  /** From then on those in escalateTo may decide as well */
  escalateAfterSeconds?: number;
  /** Email addresses of further approvers, 1 to 50, from `escalateAfterSeconds` on */
  escalateTo?: string[];
  /** Later steps refer to it as {{steps.<id>.output}} */
  id?: string;
  /** Label for people, at most 200 characters */
  name?: string;
  /** A template; the step is skipped unless it renders to something truthy */
  when?: string;
  /** Whether the run goes on when the step fails after all tries; default false */
  continueOnError?: boolean;
  /** How failed tries are repeated; the retry policy of the skill when left out */
  retry?: {
    /** Tries in all */
    maxAttempts: number;
    /** Before the second try */
    backoffSeconds?: number;
    /** By which each further wait grows */
    factor?: number;
  };
  /** Waits so long before the step begins; no worker is held */
  delaySeconds?: number;
  /** Without effect, and refused when steps are saved; set expiresInSeconds */
  timeoutSeconds?: number;
}

export interface AuditEntry {
  /** Id of the entry */
  id: string;
  /** Who did it, such as `user:<id>`, `token:<id>` or `operator` */
  actor: string;
  /** What was done, such as `workflow.updated` */
  action: string;
  /** Kind of the object, such as `workflow` */
  targetType: string;
  /** Id of the object */
  targetId: string;
  /** Facts about the action; the fields depend on `action`. Secrets are never part of it */
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
  /** One for each run, in the order of `ids`; of a filter, the newest first */
  results: {
    /** Id of the run that was named or selected */
    id: string;
    /** Whether the operation succeeded for this run */
    ok: boolean;
    /** The run that there is now: the new attempt of a retry, else the run itself */
    runId?: string;
    /** Why not, for programs */
    code?: string;
    /** Why not, for people */
    message?: string;
  }[];
  /** Whether the filter means more runs, which are older */
  more: boolean;
  /** Give it as `filter.olderThan` to go on */
  next: string | null;
}

export interface CallConnection {
  /** Id of the connection */
  id: string;
  /** Carrier that sends the events */
  provider: 'twilio' | 'telnyx' | 'kamailio';
  /** Label for people, at most 200 characters */
  name: string;
  /** Where the carrier sends what happens to calls; under PUBLIC_URL */
  url: string;
  /** Twilio: SID of the account; null for other carriers and when it is not set */
  accountSid: string | null;
  /** Twilio: base URL of the API; null for other carriers and for the default */
  apiBaseUrl: string | null;
  /** When the carrier last sent something that was signed well, to within a minute */
  lastEventAt: string | null;
  /** Up to when calls were compared with the carrier's own list */
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
  /** Label for people, at most 200 characters */
  name: string;
  /** Where the carrier sends what happens to calls; under PUBLIC_URL */
  url: string;
  /** Twilio: SID of the account; null for other carriers and when it is not set */
  accountSid: string | null;
  /** Twilio: base URL of the API; null for other carriers and for the default */
  apiBaseUrl: string | null;
  /** When the carrier last sent something that was signed well, to within a minute */
  lastEventAt: string | null;
  /** Up to when calls were compared with the carrier's own list */
  reconciledAt: string | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
  /** Kamailio: the secret with which it signs, shown only now: 32 bytes as base64url */
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
  /** Calls, the newest first */
  items: CallRecord[];
  /** Send it as `cursor` to read the next page; null on the last page */
  nextCursor: string | null;
}

/** One call, as its carrier reported it */
export interface CallRecord {
  /** Id of the record */
  id: string;
  /** Carrier that reported the call, or `sip_trunk` for the trunk of the workspace */
  provider: 'twilio' | 'telnyx' | 'kamailio' | 'sip_trunk';
  /** What the carrier calls it; unique for a workspace and carrier */
  callSid: string;
  /** Null until the carrier has said it */
  direction: CallDirection | null;
  /** Who called: a number or a SIP address, as the carrier wrote it */
  fromId: string | null;
  /** Who was called */
  toId: string | null;
  /** Display name, or email address, of the member who called from their softphone; null for others */
  fromName: string | null;
  /** The same of the member who was called */
  toName: string | null;
  /** Progress of the call; `ended` is final */
  state: 'queued' | 'ringing' | 'in_progress' | 'ended';
  /** `answered`; `missed`: inbound, and not taken or given up by the caller; `busy`; `failed`; `voicemail`: a machine answered; `cancelled`: outbound, and given up. Null until it ended */
  result: CallResult | null;
  /** In the words of the carrier, or `no_final_event` where it never said that the call ended */
  reason: string | null;
  /** ISO 8601, UTC, with milliseconds */
  startedAt: string;
  /** ISO 8601, UTC, with milliseconds */
  answeredAt: string | null;
  /** ISO 8601, UTC, with milliseconds */
  endedAt: string | null;
  /** Talk time; 0 unless answered */
  durationSecs: number;
  /** From its start until it was answered or ended; null while it rings */
  ringSecs: number | null;
  /** Who ended it, where the carrier says so */
  hangupBy: 'caller' | 'callee' | null;
  /** The final SIP status, where the carrier says so */
  sipCode: number | null;
  /** How well it sounded, 1 to 5; of several measurements the worst; null unless measured */
  mosScore: number | null;
}

export interface CallRecordPage {
  /** Rows of this page, at most `meta.limit` */
  data: CallRecord[];
  meta: PageMeta;
}

export type CallResult = 'answered' | 'missed' | 'busy' | 'failed' | 'voicemail' | 'cancelled';

export interface CallSummary {
  /** Whole, half up, of the answered calls that began today in UTC */
  minutesToday: number;
  /** Of the inbound calls that ended, of today and the 6 days before in UTC: how many were answered, 0 to 1; null without any */
  answeredRate7d: number | null;
  /** Calls that began today, ended or not */
  callsToday: number;
  /** Inbound calls of these 7 days that ended */
  inbound7d: number;
  /** Those of them that were answered */
  answered7d: number;
}

export interface CallsEndEvent {
  /** The stream ends; the caller may not follow it any more */
  type: 'end';
  /** Stable reason, such as `token_revoked` */
  code: string;
  /** Reason, for people */
  message: string;
}

export interface CallsReadyEvent {
  /** The stream is open; events from now on are sent */
  type: 'ready';
  /** ISO 8601, UTC, with milliseconds */
  at: string;
}

export interface CallsResetEvent {
  /** Events are missing; read the list of calls again */
  type: 'reset';
  /** ISO 8601, UTC, with milliseconds */
  at: string;
  /** Why events are missing, for people */
  message: string;
}

export interface Campaign {
  /** Id of the campaign */
  id: string;
  /** Label for people, at most 200 characters */
  name: string;
  /** List of the recipients */
  listId: string;
  /** Subject of the mail, at most 500 characters; may hold templates */
  subject: string;
  /** HTML body, at most 500,000 characters; null without one */
  html: string | null;
  /** Plain text body, at most 100,000 characters; null without one */
  text: string | null;
  /** Number of mails by outcome */
  mails: {
    /** Mails that the mail server accepted */
    sent: number;
    /** Mails of the test environment, which were not sent */
    simulated: number;
    /** Mails that the mail server refused */
    failed: number;
    /** Under way, or cut off in the middle: nobody knows, so they are not sent again */
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
  /** Selects the newest runs that match; give either `ids` or `filter` */
  filter?: {
    /** Only runs of this workflow; runs of every workflow when left out */
    workflowId?: string;
    /** Any of these when left out */
    status?: 'queued' | 'running' | 'waiting_approval';
    /** Queued at this time or later */
    from?: string;
    /** Queued before this time */
    to?: string;
    /** `next` of the answer before */
    olderThan?: string;
  };
  /** Of a filter: runs that are taken on at once, the newest first */
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
  /** The password that is valid now */
  currentPassword: string;
  /** At least 12 characters */
  newPassword: string;
}

export interface Channel {
  /** Id of the channel */
  id: string;
  /** Service that carries the messages */
  provider: 'telegram' | 'slack' | 'whatsapp' | 'webhook' | 'email';
  /** Label for people, at most 200 characters */
  name: string;
  /** Without its secrets */
  config: JsonObject;
  /** Which secrets are set */
  secretsSet: string[];
  /** Whether the channel accepts and sends messages */
  active: boolean;
  /** Whether inbound messages open Live Chat conversations */
  conversations: boolean;
  /** Where the provider sends its messages to, under the address of the hub */
  inboundPath: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
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
  /** Which channels start it; every one when left out */
  channel: {
    /** Only this channel; every channel of the provider when left out */
    channelId?: string;
    /** Only channels of this provider; every provider when left out */
    provider?: 'telegram' | 'slack' | 'whatsapp' | 'webhook' | 'email';
  };
}

export interface ChannelTriggerInput {
  /** Version of the trigger format; 1 is the only one */
  schemaVersion?: 1;
  /** Starts when a message arrives on a channel */
  type: 'channel';
  /** Which channels start it; every one when left out */
  channel?: {
    /** Only this channel; every channel of the provider when left out */
    channelId?: string;
    /** Only channels of this provider; every provider when left out */
    provider?: 'telegram' | 'slack' | 'whatsapp' | 'webhook' | 'email';
  };
}

export interface ChatAgent {
  /** Id of the member */
  userId: string;
  /** Email address with which the member signs in; visitors never see it */
  email: string;
  /** What visitors see of the agent; null shows a neutral word */
  displayName: string | null;
  /** Path of the picture, relative to the URL of this hub; needs no credentials. Null without a picture. A new picture has a new path. */
  picture: string | null;
  /** `offline` without a live connection for 30 seconds */
  presence: 'online' | 'away' | 'offline';
  /** Open conversations that are assigned to the agent */
  openConversations: number;
}

export interface ChatAgents {
  /** Members of the workspace */
  data: ChatAgent[];
}

export interface ChatAiSettings {
  /** Needs the entitlement `ai_agent` */
  enabled: boolean;
  /** `when_no_agent_online`: answers while nobody of the workspace is there; `always`: also then, and conversations go to nobody before a hand-over; `shadow`: suggests to agents, and writes to no visitor */
  mode: 'when_no_agent_online' | 'always' | 'off' | 'shadow';
  /** What the agent is told of the business */
  businessProfile: string;
  /** How it writes, such as friendly and brief */
  tone: string;
  /** `auto` answers in the language of the visitor */
  language: string;
  /** Shown to the visitor while it answers; empty for the page's own words that this is an assistant */
  disclosure: string;
  /** A message with one of them, as whole words in any script and case, goes to a person at once */
  handoffKeywords: string[];
  /** What the visitor is told then; empty for the hub's own words */
  handoffMessage: string;
  /** Counted since a person last wrote in the conversation; the next message goes to a person */
  maxRepliesPerConversation: number;
  /** Replies and suggestions by itself in a day, UTC; beyond it messages go to a person */
  dailyReplyBudget: number;
  /** It waits so long for more after the last message of the visitor */
  debounceMs: number;
  /** An answer whose best source from the knowledge scores less goes to a person; 0 lets it answer without any */
  minConfidence: number;
  /** What it may call while it answers: together 5 calls and 20 seconds for an answer. What its skills say is quoted to the model; nothing else is ever called */
  tools: ChatAiTool[];
  /** Without it nothing is answered, whatever `enabled` says */
  entitlementActive: boolean;
  /** Of today */
  usage: {
    /** Today, UTC */
    day: string;
    /** Replies that the AI agent sent */
    replies: number;
    /** Made by itself, in the mode `shadow` */
    suggestions: number;
    /** Conversations that it handed over to people */
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
  /** Needs the entitlement `ai_agent` */
  enabled?: boolean;
  /** `when_no_agent_online`: answers while nobody of the workspace is there; `always`: also then, and conversations go to nobody before a hand-over; `shadow`: suggests to agents, and writes to no visitor */
  mode?: 'when_no_agent_online' | 'always' | 'off' | 'shadow';
  /** What the agent is told of the business */
  businessProfile?: string;
  /** How it writes, such as friendly and brief */
  tone?: string;
  /** `auto` answers in the language of the visitor */
  language?: string;
  /** Shown to the visitor while it answers; empty for the page's own words that this is an assistant */
  disclosure?: string;
  /** A message with one of them, as whole words in any script and case, goes to a person at once */
  handoffKeywords?: string[];
  /** What the visitor is told then; empty for the hub's own words */
  handoffMessage?: string;
  /** Counted since a person last wrote in the conversation; the next message goes to a person */
  maxRepliesPerConversation?: number;
  /** Replies and suggestions by itself in a day, UTC; beyond it messages go to a person */
  dailyReplyBudget?: number;
  /** It waits so long for more after the last message of the visitor */
  debounceMs?: number;
  /** An answer whose best source from the knowledge scores less goes to a person; 0 lets it answer without any */
  minConfidence?: number;
  /** What it may call while it answers: together 5 calls and 20 seconds for an answer. What its skills say is quoted to the model; nothing else is ever called */
  tools?: ChatAiToolInput[];
}

export interface ChatAiTool {
  /** How the agent calls it; unique among the tools */
  name: string;
  /** Of the catalogue of skills. One that only reads is called while it answers; any other makes an approval, and runs once a person has agreed */
  skillId: string;
  /** What the agent is told that it is for; empty for the skill's own words */
  description: string;
  /** Fields of the skill's input that the agent can not set. Their texts may name `{{visitor.externalId}}`, `{{visitor.id}}`, `{{conversation.id}}`; where the visitor has no such id, there is no such tool */
  fixed: JsonObject;
  /** Whether an answer may name addresses that it finds; only where nobody but the workspace writes them */
  links: boolean;
}

export interface ChatAiToolInput {
  /** How the agent calls it; unique among the tools */
  name: string;
  /** Of the catalogue of skills. One that only reads is called while it answers; any other makes an approval, and runs once a person has agreed */
  skillId: string;
  /** What the agent is told that it is for; empty for the skill's own words */
  description?: string;
  /** Fields of the skill's input that the agent can not set. Their texts may name `{{visitor.externalId}}`, `{{visitor.id}}`, `{{conversation.id}}`; where the visitor has no such id, there is no such tool */
  fixed?: Record<string, unknown>;
  /** Whether an answer may name addresses that it finds; only where nobody but the workspace writes them */
  links?: boolean;
}

export interface ChatAiToolUse {
  /** As in the settings; empty for one that there is not */
  name: string;
  /** Duration of the call, in milliseconds */
  ms: number;
  /** `approval_asked`: a person decides, under approvals */
  outcome: 'answered' | 'approval_asked' | 'invalid_input' | 'failed' | 'timeout' | 'unknown_tool';
}

export interface ChatAttachment {
  /** Id of the file */
  id: string;
  /** File name, at most 200 characters */
  name: string;
  /** By what the file holds, not by its name */
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
  /** What was wrong, for people */
  message: string;
}

/** A message that the visitor can see */
export interface ChatMessage {
  /** Id of the message */
  id: string;
  /** Conversation of the message */
  conversationId: string;
  /** Counts the messages of a conversation, without a gap */
  seq: number;
  /** Text as it was written, at most 10,000 characters; empty when only files were sent */
  content: string;
  /** `visitor` and `agent` are people, `api` an API key or workflow, `ai` the AI agent, `system` the hub */
  senderType: 'visitor' | 'agent' | 'api' | 'ai' | 'system';
  /** Id of the visitor, member or API key; null for other senders */
  senderId: string | null;
  /** Display name of the agent who wrote it; null for other senders, for an agent without a display name, and for one who is no member any more */
  senderName: string | null;
  /** Path of the picture of the agent who wrote it, relative to the URL of this hub; needs no credentials. Null for other senders and without a picture. */
  senderPicture: string | null;
  /** Files of the message, at most 5 */
  attachments: ChatAttachment[];
  /** The sender's own id of the message; the same id is stored once. Null without one */
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
  /** Of an entry of the knowledge */
  id: string;
  /** Page on which visitors can read more; null without one */
  url: string | null;
}

/** How the chat of the workspace looks and behaves */
export interface ChatPageSettings {
  /** Title of the chat */
  title: string;
  /** Null: the page's own, in the visitor's language */
  greeting: string | null;
  /** Brand colour, `#rrggbb` */
  colour: string;
  /** Language of the page; null: that of the visitor */
  locale: 'en' | 'de' | 'fr' | 'es' | 'ar' | 'ja' | null;
  /** Whether visitors without a token may begin a conversation */
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
  /** Whether these are business hours */
  open: boolean;
  /** Empty while it is open */
  awayMessage: string;
}

export interface ChatRating {
  /** 1 (worst) to 5 (best) */
  score: number;
  /** At most 2,000 characters; empty without one */
  comment: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
}

export interface ChatSession {
  /** Open conversation of the visitor; made when there was none */
  conversationId: string;
  /** URL of the hosted chat page, which opens the conversation; valid until `expiresAt` */
  chatUrl: string;
  /** External id of the visitor, as it was sent */
  externalId: string;
  /** Token for `boot` of the widget; it opens this conversation alone */
  visitorToken: string;
  /** ISO 8601, UTC, with milliseconds */
  expiresAt: string;
  /** Site key of the workspace, `wgt_…`, for the script tag */
  siteKey: string;
}

export interface ChatSettings {
  /** What the page and the widget are headed with. Pages translate the default */
  title: string;
  /** Shown above what is written; null for `How can we help?` in the visitor's language, empty for none */
  greeting: string | null;
  /** Of the launcher and of what the visitor wrote */
  colour: string;
  /** Null for the visitor's own language where the page speaks it, else English */
  locale: 'en' | 'de' | 'fr' | 'es' | 'ar' | 'ja' | null;
  /** Sites that may show the widget; none when empty */
  allowedOrigins: string[];
  /** Whether visitors without a token may begin a conversation */
  allowAnonymous: boolean;
  /** What the page asks of a visitor without a token; it identifies nobody */
  preChat: {
    /** Whether the page asks for it: `off`, `optional` or `required` */
    name: 'off' | 'optional' | 'required';
    /** Whether the page asks for it: `off`, `optional` or `required` */
    email: 'off' | 'optional' | 'required';
  };
  /** Null when somebody is there around the clock */
  businessHours: {
    /** IANA time zone of the periods, such as `Europe/Berlin` */
    timeZone: string;
    /** Times at which the chat is open, at most 50 */
    periods: {
      /** Day of the week */
      day: 'monday' | 'tuesday' | 'wednesday' | 'thursday' | 'friday' | 'saturday' | 'sunday';
      /** Local time at which the period begins, `HH:MM` */
      from: string;
      /** Local time at which the period ends, `HH:MM`; `24:00` for the end of the day */
      to: string;
    }[];
    /** Shown outside the periods, at most 500 characters; may be empty */
    awayMessage: string;
  } | null;
  /** New and reopened conversations go to the agent online with the fewest open ones, then the longest idle */
  autoAssignment: {
    /** Whether conversations are assigned automatically */
    enabled: boolean;
    /** Open conversations that one agent gets at most by it */
    capacity: number;
    /** Whether the open conversations of an agent who is away go to others */
    returnToPool: boolean;
  };
  /** Whether visitors are asked how it was */
  ratings: boolean;
  /** Resolved and closed conversations are erased so many days after their last message; null keeps them */
  retentionDays: number | null;
  /** Whether visitors' addresses are kept whole; else without their last part */
  keepAddresses: boolean;
  /** Site key of the workspace, `wgt_…`, for the script tag */
  siteKey: string;
  /** To put on the sites that are allowed */
  snippet: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string | null;
}

export interface ChatSettingsPatch {
  /** What the page and the widget are headed with. Pages translate the default */
  title?: string;
  /** Shown above what is written; null for `How can we help?` in the visitor's language, empty for none */
  greeting?: string | null;
  /** Of the launcher and of what the visitor wrote */
  colour?: string;
  /** Null for the visitor's own language where the page speaks it, else English */
  locale?: 'en' | 'de' | 'fr' | 'es' | 'ar' | 'ja' | null;
  /** Sites that may show the widget; none when empty */
  allowedOrigins?: string[];
  /** Whether visitors without a token may begin a conversation */
  allowAnonymous?: boolean;
  /** What the page asks of a visitor without a token; it identifies nobody */
  preChat?: {
    /** Whether the page asks for it: `off`, `optional` or `required` */
    name: 'off' | 'optional' | 'required';
    /** Whether the page asks for it: `off`, `optional` or `required` */
    email: 'off' | 'optional' | 'required';
  };
  /** Null when somebody is there around the clock */
  businessHours?: {
    /** IANA time zone of the periods, such as `Europe/Berlin` */
    timeZone: string;
    /** Times at which the chat is open, at most 50 */
    periods: {
      /** Day of the week */
      day: 'monday' | 'tuesday' | 'wednesday' | 'thursday' | 'friday' | 'saturday' | 'sunday';
      /** Local time at which the period begins, `HH:MM` */
      from: string;
      /** Local time at which the period ends, `HH:MM`; `24:00` for the end of the day */
      to: string;
    }[];
    /** Shown outside the periods, at most 500 characters; may be empty */
    awayMessage: string;
  } | null;
  /** New and reopened conversations go to the agent online with the fewest open ones, then the longest idle */
  autoAssignment?: {
    /** Whether conversations are assigned automatically */
    enabled: boolean;
    /** Open conversations that one agent gets at most by it */
    capacity: number;
    /** Whether the open conversations of an agent who is away go to others */
    returnToPool: boolean;
  };
  /** Whether visitors are asked how it was */
  ratings?: boolean;
  /** Resolved and closed conversations are erased so many days after their last message; null keeps them */
  retentionDays?: number | null;
  /** Whether visitors' addresses are kept whole; else without their last part */
  keepAddresses?: boolean;
}

export interface ChatVisitors {
  /** Visitors, the newest first */
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
  /** After this the hub no longer wants the answer */
  expiresAt: string;
  /** Milliseconds from now in which the device must end the command, whatever its own clock says; at the latest `expiresAt` */
  endsInMs: number;
  /** Seconds until the command is handed out again unless a heartbeat extends the lease */
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
  /** Who approved, as in the audit log */
  approvedBy: string;
  /** ISO 8601, UTC, with milliseconds */
  approvedAt: string;
}

/** Why the hub sends a command. Its texts come from users of the hub: show them as text only */
export interface CommandOrigin {
  /** Workspace that sends the command */
  workspace: {
    /** Id of the workspace */
    id: string;
    /** Name of the workspace */
    name: string;
  };
  /** Missing for a direct run of a skill */
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
    /** One of user, key, hook, schedule, event, channel, device, run, other; a newer hub may send other words */
    kind: string;
    /** The id of the user, API key, channel or parent run */
    id?: string;
    /** A user's email address, an API key's name, or words that name the trigger */
    name: string;
  };
  /** Missing when the command needed no approval */
  approvedBy?: {
    /** A decision by a mailed link counts as the user it was mailed to */
    kind: 'user' | 'key';
    /** The id of the user or API key; an email address for approvers outside the workspace */
    id: string;
    /** A user's email address or an API key's name */
    name: string;
    /** ISO 8601, UTC, with milliseconds */
    at: string;
  };
  /** The approver's note, else the title of the approval, else the name of the step */
  reason?: string;
}

export interface CommandResult {
  /** Whether the command was carried out */
  status: 'succeeded' | 'failed';
  /** The output of the command, as the catalog of skills describes it. Where the catalog has `artifactId`, the device sends `artifact` instead: the name of a file of this result. The other fields, such as `contentType` and `bytes`, are required as in the catalog. The hub replaces `artifact` by `artifactId` */
  output?: unknown;
  /** Why the command failed; only with `failed` */
  error?: {
    /** Such as denied_by_device, denied_by_policy, outside_shared_folders, downloads_not_received, hub_unreachable, tool_missing, permission_needed, timeout, paused, audit_unavailable, protected_path, not_begun, interrupted, approval_mismatch, invalid_input, not_found, target_not_found, too_large, navigation_failed, page_closed, page_of_another_run, too_many_pages, evaluation_failed, withdrawn, outcome_unknown, unknown_command, failed, node_offline, node_revoked, invalid_reply */
    code: string;
    /** What went wrong, for people; at most 4,000 characters */
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
  /** Names of artefacts that were uploaded before the result */
  uploads?: string[];
}

export interface Contact {
  /** Id of the contact */
  id: string;
  /** Email address in lower case; unique in its list */
  email: string;
  /** Name of the person; null when it is not known */
  name: string | null;
  /** Your own fields, which templates of campaigns can use; at most 50 keys and 16 KiB in all */
  attributes: JsonObject;
  /** ISO 8601, UTC, with milliseconds */
  unsubscribedAt: string | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
}

export interface ContactList {
  /** Id of the list */
  id: string;
  /** Label for people, at most 200 characters */
  name: string;
  /** Number of contacts, those who unsubscribed included */
  contacts: number;
  /** Number of contacts who unsubscribed */
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
  /** Where the conversation comes from, such as `api` or `Mobile App`; at most 100 characters */
  source: string;
  /** A message of the visitor reopens `pending` and `resolved`; a `closed` conversation stays closed */
  status: 'open' | 'pending' | 'resolved' | 'closed';
  /** Urgency, as set by agents, keys or workflows */
  priority: 'low' | 'normal' | 'high' | 'urgent';
  /** Member who is responsible; null while nobody is */
  assignedUserId: string | null;
  /** Visitor of the conversation; null without one */
  visitorId: string | null;
  /** The visitor's messages that no agent has read */
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
  /** Label for people, 1 to 200 characters */
  name: string;
  /** Instructions for the model, at most 50,000 characters */
  systemPrompt?: string;
  /** Profile that says which skills the agent may call; null for none */
  toolProfileId?: string | null;
  /** Keys that route inbound messages to this agent, at most 50 */
  routeKeys?: string[];
  /** Id of a model of the workspace; null for the failover order */
  model?: string | null;
}

export interface CreateAiRun {
  /** The question of a person, in code points */
  input: string;
  /** Facts for the answer, in code points. They are quoted as data: orders in them are not followed */
  context?: string;
  /** For you to find it again: at most 50 keys of 40 characters, with texts of 500. No model sees it, and nothing is fetched by it */
  metadata?: Record<string, string>;
  /** Kind of the answer; `text` is the only one and the default */
  mode?: 'text';
  /** The language of the answer, by BCP 47; that of the input when left out */
  locale?: string;
}

export interface CreateApiToken {
  /** Label for people, 1 to 200 characters */
  name: string;
  /** Product whose API the key can call */
  product: 'chat' | 'ai' | 'automations' | 'voice';
  /** `test` keys of Live Chat see and change test visitors and conversations only. `test` keys of Automations share the data of the workspace: their runs are test runs, whose mails, channel messages and webhooks are recorded as simulated and not sent, and they cannot change live workflows, live runs, their approvals, or what live runs use (sequences, agents, tool profiles, channels, nodes, models, the policy). Commands of nodes and calls of models are real in both environments */
  environment?: 'live' | 'test';
  /** What the key may do, 1 to 10 of the permissions of the product */
  permissions: ('chat:write' | 'chat:read' | 'visitors:read' | 'webhooks:manage' | 'ai:invoke' | 'ai:speak' | 'ai:voice' | 'knowledge:manage' | 'usage:read' | 'automations:manage' | 'automations:read' | 'automations:run' | 'approvals:decide' | 'voice:read' | 'voice:export' | 'connections:manage')[];
  /** Time from which the key is refused; it never expires when left out */
  expiresAt?: string;
  /** CIDR blocks or addresses, IPv4 and IPv6 */
  ipAllowlist?: string[];
}

export interface CreateCallConnection {
  /** Carrier that sends the events; can not be changed later */
  provider: 'twilio' | 'telnyx' | 'kamailio';
  /** Label for people, 1 to 200 characters */
  name: string;
  /** Twilio: the account's auth token, which signs what Twilio sends; write only */
  authToken?: string;
  /** Telnyx: the public key of the account, as base64; write only */
  publicKey?: string;
  /** Twilio: the account's SID. With it, Twilio's own list is asked every night for calls that were missed */
  accountSid?: string;
  /** Twilio: where its API answers, https; `https://api.twilio.com` unless said. The auth token goes only where it was set for: with another address it must be given anew */
  apiBaseUrl?: string;
}

export interface CreateSequence {
  /** Label for people, 1 to 200 characters */
  name: string;
  /** Steps in the order in which they run, 1 to 200 */
  steps: StepInput[];
}

export interface CreateWorkflow {
  /** Label for people, 1 to 200 characters */
  name: string;
  /** Whether the trigger starts runs from the beginning */
  active?: boolean;
  triggerJson?: TriggerInput;
  /** Steps in the order in which they run, 1 to 200 */
  stepsJson: StepInput[];
  /** Limits on its runs; none when left out or null */
  limits?: WorkflowLimitsInput | null;
  /** Which payload its runs take; any when left out or null */
  inputs?: WorkflowInputs | null;
}

export interface CreatedApiToken {
  /** Id of the key */
  id: string;
  /** Label for people, at most 200 characters */
  name: string;
  /** Product whose API the key can call */
  product: 'chat' | 'ai' | 'automations' | 'voice';
  /** `test` keys of Live Chat see and change test visitors and conversations only. `test` keys of Automations share the data of the workspace: their runs are test runs, whose mails, channel messages and webhooks are recorded as simulated and not sent, and they cannot change live workflows, live runs, their approvals, or what live runs use (sequences, agents, tool profiles, channels, nodes, models, the policy). Commands of nodes and calls of models are real in both environments */
  environment: 'live' | 'test';
  /** What the key may do */
  permissions: ('chat:write' | 'chat:read' | 'visitors:read' | 'webhooks:manage' | 'ai:invoke' | 'ai:speak' | 'ai:voice' | 'knowledge:manage' | 'usage:read' | 'automations:manage' | 'automations:read' | 'automations:run' | 'approvals:decide' | 'voice:read' | 'voice:export' | 'connections:manage')[];
  /** The key without its secret */
  keyHint: string;
  /** CIDR blocks or addresses that may use the key; every address when empty */
  ipAllowlist: string[];
  /** ISO 8601, UTC, with milliseconds */
  expiresAt: string | null;
  /** ISO 8601, UTC, with milliseconds */
  lastUsedAt: string | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** Id of the workspace */
  tenantId: string;
  /** The whole key, shown only in this answer */
  key: string;
}

export interface CronSchedule {
  /** Fires at the times of a cron expression */
  kind: 'cron';
  /** Five fields: minute, hour, day of the month, month, day of the week */
  cron: string;
  /** IANA time zone in which the schedule is read, such as `Europe/Berlin` */
  timezone: string;
  /** What becomes of fires that fell due while the hub was down. A fire that is at most 10 seconds late is not missed: it always runs */
  onMissed: 'skip' | 'last' | 'all';
  /** With onMissed all: the latest so many are made up for, besides fires that are at most 10 seconds late */
  maxCatchUp: number;
  /** What a fire does while a run of the workflow is under way */
  overlap: 'allow' | 'skip' | 'queue';
  /** Each run begins up to so many seconds after its time */
  jitterSeconds: number;
}

export interface CronScheduleInput {
  /** Fires at the times of a cron expression */
  kind: 'cron';
  /** Five fields: minute, hour, day of the month, month, day of the week */
  cron: string;
  /** IANA time zone in which the schedule is read, such as `Europe/Berlin` */
  timezone?: string;
  /** What becomes of fires that fell due while the hub was down. A fire that is at most 10 seconds late is not missed: it always runs */
  onMissed?: 'skip' | 'last' | 'all';
  /** With onMissed all: the latest so many are made up for, besides fires that are at most 10 seconds late */
  maxCatchUp?: number;
  /** What a fire does while a run of the workflow is under way */
  overlap?: 'allow' | 'skip' | 'queue';
  /** Each run begins up to so many seconds after its time */
  jitterSeconds?: number;
}

export interface DecideApproval {
  /** `approved` lets the run go on, `rejected` fails the step */
  decision: 'approved' | 'rejected';
  /** Reason, at most 2,000 characters; shown in the run and in the audit log */
  note?: string;
}

export interface Deleted {
  /** Id of what was deleted */
  id: string;
  /** Always true; a failure is an error answer */
  deleted: true;
}

export interface DeliverStep {
  /** Sends a message through a channel */
  type: 'deliver';
  /** Provider of the channel */
  provider: 'telegram' | 'slack' | 'whatsapp' | 'webhook' | 'email';
  /** Which channel of the provider; its only active one when left out. email without a channel goes out by email.send */
  channelId?: string;
  /** Recipient as the provider names it: an email address, phone number or chat id; may hold templates */
  to: string;
  /** For email */
  subject?: string;
  /** Text of the message, at most 20,000 characters; may hold templates */
  text: string;
  /** URL of a file that is sent with the text, where the provider supports it */
  mediaUrl?: string;
  /** Later steps refer to it as {{steps.<id>.output}} */
  id?: string;
  /** Label for people, at most 200 characters */
  name?: string;
  /** A template; the step is skipped unless it renders to something truthy */
  when?: string;
  /** Whether the run goes on when the step fails after all tries; default false */
  continueOnError?: boolean;
  /** How failed tries are repeated; the retry policy of the skill when left out */
  retry?: {
    /** Tries in all */
    maxAttempts: number;
    /** Before the second try */
    backoffSeconds: number;
    /** By which each further wait grows */
    factor: number;
  };
  /** Waits so long before the step begins; no worker is held */
  delaySeconds?: number;
  /** For each try */
  timeoutSeconds?: number;
}

export interface DeliverStepInput {
  /** Sends a message through a channel */
  type: 'deliver';
  /** Provider of the channel */
  provider: 'telegram' | 'slack' | 'whatsapp' | 'webhook' | 'email';
  /** Which channel of the provider; its only active one when left out. email without a channel goes out by email.send */
  channelId?: string;
  /** Recipient as the provider names it: an email address, phone number or chat id; may hold templates */
  to: string;
  /** For email */
  subject?: string;
  /** Text of the message, at most 20,000 characters; may hold templates */
  text: string;
  /** URL of a file that is sent with the text, where the provider supports it */
  mediaUrl?: string;
  /** Later steps refer to it as {{steps.<id>.output}} */
  id?: string;
  /** Label for people, at most 200 characters */
  name?: string;
  /** A template; the step is skipped unless it renders to something truthy */
  when?: string;
  /** Whether the run goes on when the step fails after all tries; default false */
  continueOnError?: boolean;
  /** How failed tries are repeated; the retry policy of the skill when left out */
  retry?: {
    /** Tries in all */
    maxAttempts: number;
    /** Before the second try */
    backoffSeconds?: number;
    /** By which each further wait grows */
    factor?: number;
  };
  /** Waits so long before the step begins; no worker is held */
  delaySeconds?: number;
  /** For each try */
  timeoutSeconds?: number;
}

/** Facts of a heartbeat; each one may be missing */
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
    /** Number of the display, from 0, as `screen` commands take it */
    index: number;
    /** Name of the display; may be empty */
    name: string;
    /** In pixels */
    width: number;
    /** In pixels */
    height: number;
  }[];
  /** Seconds since the device started */
  uptimeSeconds?: number;
}

/** What a device reports about itself. It is not trusted: show it as text only */
export interface DeviceInfo {
  /** Host name of the device */
  name: string;
  /** As Node.js names it: linux, darwin, win32 */
  platform: string;
  /** Processor architecture as Node.js names it, such as `x64` or `arm64` */
  arch: string;
  /** Version of the operating system; may be empty */
  osVersion: string;
  /** Version of the companion */
  appVersion: string;
  /** Command types that this device can carry out now */
  capabilities: string[];
}

export interface DryRun {
  /** Always true: no run was started */
  dryRun: true;
  /** Whether every step could run as far as can be told now */
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
    /** What `when` says; unknown when it depends on what earlier steps bring */
    willRun: 'yes' | 'no' | 'unknown';
    /** With every template resolved whose value is known; the others stand as they are */
    input: JsonValue;
    /** References whose value only the run will know */
    unresolved: string[];
    /** What the step would do to the world, in a sentence */
    effect: string;
    /** Whether a person must approve before the step runs */
    needsApproval: boolean;
    /** What would make the step fail; empty when nothing is known */
    problems: string[];
  }[];
}

export interface EndEvent {
  /** The stream ends; the caller may not follow it any more */
  type: 'end';
  /** Stable reason, such as `token_revoked` */
  code: string;
  /** Reason, for people */
  message: string;
}

export interface Entitlements {
  /** Live Chat: widget, inbox and its API */
  conversations_suite: boolean;
  /** AI answers, suggestions and AI runs */
  ai_agent: boolean;
  /** Workflows, companion nodes and everything else of Automations */
  automations: boolean;
  /** Call records and SIP */
  business_calling: boolean;
  /** Skills that send email */
  business_email: boolean;
  /** Contact lists and campaigns */
  marketing: boolean;
  /** Voice conversations with the AI agent; needs `ai_agent` as well */
  business_phone: boolean;
}

export interface Error {
  /** HTTP status, 400 to 599 */
  statusCode: number;
  /** The reason phrase of the status */
  error: string;
  /** For people: what is wrong and what to do */
  message: string;
  /** Id of the request, as in `X-Request-ID` and in the log of the hub */
  requestId: string;
  /** For programs: stable */
  code: string;
  /** The run that failed, where it is kept */
  runId?: string;
  /** With `assignment_conflict`: the user who has the conversation now; null for no one */
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
    /** Fields of the payload by their path, each with the value that it must have, or a list of at most 1,000 values of which it must have one */
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
    /** Fields of the payload by their path, each with the value that it must have, or a list of at most 1,000 values of which it must have one */
    filter?: Record<string, unknown>;
  };
}

export interface Failure {
  /** Stable code of the failure, for programs */
  code: string;
  /** What went wrong and what to do, for people */
  message: string;
  /** Index of the step that failed, from 0; missing when no step failed */
  stepIndex?: number;
}

export interface Flow {
  /** Id of the flow */
  id: string;
  /** Workflow of its runs */
  workflowId: string;
  /** Number of attempts so far, from 1; each retry adds one */
  revision: number;
  /** That of the latest run */
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
  /** Number of attempts so far, from 1; each retry adds one */
  revision: number;
  /** That of the latest run */
  status: 'queued' | 'running' | 'waiting_approval' | 'succeeded' | 'failed' | 'cancelled';
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
  /** First attempt first */
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
  /** Whether phones of the workspace can be served; `reason` says why not */
  ready: boolean;
  /** `sip_server_not_configured`: the operator has no SIP server for this hub (SIP_DOMAIN); `credentials_outdated`: the workspace opted in before the server was there, or at another domain; opt in again for credentials that count */
  reason?: 'sip_server_not_configured' | 'credentials_outdated';
  /** Whether the workspace may have it; where it may not any more, `enabled` stays as it was */
  entitled: boolean;
  /** Of the SIP server; null where there is none */
  domain: string | null;
  /** The SIP user that you are at `domain`; null unless the workspace opted in and there is a server */
  username: string | null;
  /** Where softphones of people who are signed in connect; null where that is not offered */
  wsUrl: string | null;
  /** For one phone that registers at `domain` itself, with MD5. Only in the answer to the opt-in that made them: opt out and in again for others */
  credentials?: SipCredentials;
}

/** How often the device should call the hub */
export interface HubPace {
  /** Seconds for which the device should hold a poll open */
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
    /** Label for people, at most 200 characters */
    name: string;
    /** Three numbers such as `1.0.0` */
    version: string;
    /** Who publishes the pack, at most 200 characters */
    publisher: string;
    /** What the pack does, for people */
    summary: string;
    /** What a workflow of the pack must be given: a part of JSON Schema */
    inputsSchema: {
      /** Always `object` */
      type: 'object';
      /** Inputs by name */
      properties: JsonObject;
      /** Names of the inputs that must be given, at most 50 */
      required: string[];
    };
    /** Every skill that its graph uses */
    skills: string[];
    /** Hosts that it calls or opens: a name, with its port unless that is its scheme's own, or `inputs.<name>` for the host of an input of format uri */
    hosts: string[];
    /** Names of inputs that hold a secret */
    secrets: string[];
    /** What it does on a companion node */
    nodePowers: ('ping' | 'screen' | 'camera' | 'audio' | 'files' | 'browser' | 'system')[];
    /** Trigger and steps of the workflow that the pack makes */
    graph: {
      /** As triggerJson of a workflow; {{inputs.<name>}} stands for an input */
      trigger: JsonObject;
      /** As stepsJson of a workflow; a step with `ifInput` is left out where that input is empty */
      steps: JsonObject[];
    };
  };
  /** When the version was published */
  createdAt: string;
  /** Since then workspaces can no longer install this version; null while they can */
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
  /** New status; unchanged when left out */
  status?: 'open' | 'pending' | 'resolved' | 'closed';
  /** New priority; unchanged when left out */
  priority?: 'low' | 'normal' | 'high' | 'urgent';
  /** Until then it is out of the views of open work; a message of the visitor ends that. Null ends it now */
  snoozedUntil?: string | null;
  /** A member of the workspace; null for nobody */
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
    /** Reason of the refusal, for people; null when it was changed */
    message: string | null;
  }[];
}

/** A conversation as agents see it */
export interface InboxConversation {
  /** Id of the conversation */
  id: string;
  /** Title for agents, at most 200 characters */
  name: string;
  /** Where the conversation comes from, such as `api` or `Mobile App`; at most 100 characters */
  source: string;
  /** A message of the visitor reopens `pending` and `resolved`; a `closed` conversation stays closed */
  status: 'open' | 'pending' | 'resolved' | 'closed';
  /** Urgency, as set by agents, keys or workflows */
  priority: 'low' | 'normal' | 'high' | 'urgent';
  /** Member who is responsible; null while nobody is */
  assignedUserId: string | null;
  /** Visitor of the conversation; null without one */
  visitorId: string | null;
  /** The visitor's messages that no agent has read */
  unreadCount: number;
  /** ISO 8601, UTC, with milliseconds */
  lastMessageAt: string | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
  /** Environment of the visitor */
  environment: 'live' | 'test';
  /** Who takes care of it: the AI agent, or people; null while nobody has it */
  owner: 'ai' | 'person' | null;
  /** ISO 8601, UTC, with milliseconds */
  snoozedUntil: string | null;
  /** Of its newest message */
  lastSeq: number;
  /** Of what was written last, notes included */
  lastPosition: number;
  /** Newest message; null without messages */
  lastMessage: {
    /** The first 200 characters */
    content: string;
    /** Kind of its sender, as in messages */
    senderType: string;
    /** ISO 8601, UTC, with milliseconds */
    createdAt: string;
  } | null;
  /** Display name, email address or external id of the visitor; null for an anonymous one */
  visitorName: string | null;
  /** Whether a token of the workspace said who it is; an e-mail never does */
  visitorVerified: boolean;
  /** Up to which message the visitor has read */
  visitorReadSeq: number;
  /** Up to which message an agent has read */
  agentReadSeq: number;
}

export interface InboxConversationDetail {
  /** Id of the conversation */
  id: string;
  /** Title for agents, at most 200 characters */
  name: string;
  /** Where the conversation comes from, such as `api` or `Mobile App`; at most 100 characters */
  source: string;
  /** A message of the visitor reopens `pending` and `resolved`; a `closed` conversation stays closed */
  status: 'open' | 'pending' | 'resolved' | 'closed';
  /** Urgency, as set by agents, keys or workflows */
  priority: 'low' | 'normal' | 'high' | 'urgent';
  /** Member who is responsible; null while nobody is */
  assignedUserId: string | null;
  /** Visitor of the conversation; null without one */
  visitorId: string | null;
  /** The visitor's messages that no agent has read */
  unreadCount: number;
  /** ISO 8601, UTC, with milliseconds */
  lastMessageAt: string | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
  /** Environment of the visitor */
  environment: 'live' | 'test';
  /** Who takes care of it: the AI agent, or people; null while nobody has it */
  owner: 'ai' | 'person' | null;
  /** ISO 8601, UTC, with milliseconds */
  snoozedUntil: string | null;
  /** Of its newest message */
  lastSeq: number;
  /** Of what was written last, notes included */
  lastPosition: number;
  /** Newest message; null without messages */
  lastMessage: {
    /** The first 200 characters */
    content: string;
    /** Kind of its sender, as in messages */
    senderType: string;
    /** ISO 8601, UTC, with milliseconds */
    createdAt: string;
  } | null;
  /** Display name, email address or external id of the visitor; null for an anonymous one */
  visitorName: string | null;
  /** Whether a token of the workspace said who it is; an e-mail never does */
  visitorVerified: boolean;
  /** Up to which message the visitor has read */
  visitorReadSeq: number;
  /** Up to which message an agent has read */
  agentReadSeq: number;
  /** Visitor of the conversation; null without one */
  visitor: InboxVisitor | null;
  /** Your own */
  draft: ChatDraft | null;
  /** Of the last closing */
  rating: ChatRating | null;
  /** Users who look at it now */
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
  /** Conversations, of whatever view, with messages that no agent has read */
  unread: number;
}

export interface InboxHit {
  message: InboxMessage;
  /** Title of the conversation */
  conversationName: string;
  /** Places of the words in `message.content`, the first 100 of them, in UTF-16 units, as programs slice texts */
  highlights: {
    /** First unit of the word, from 0 */
    start: number;
    /** Unit after the word */
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
  /** Null for a private note */
  seq: number | null;
  /** Text as it was written, at most 10,000 characters; empty when only files were sent */
  content: string;
  /** `visitor` and `agent` are people, `api` an API key or workflow, `ai` the AI agent, `system` the hub */
  senderType: 'visitor' | 'agent' | 'api' | 'ai' | 'system';
  /** Id of the visitor, member or API key; null for other senders */
  senderId: string | null;
  /** Display name of the agent who wrote it; null for other senders, for an agent without a display name, and for one who is no member any more */
  senderName: string | null;
  /** Path of the picture of the agent who wrote it, relative to the URL of this hub; needs no credentials. Null for other senders and without a picture. */
  senderPicture: string | null;
  /** Files of the message, at most 5 */
  attachments: ChatAttachment[];
  /** The sender's own id of the message; the same id is stored once. Null without one */
  clientId: string | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** Counts all that is written in a conversation, notes included */
  position: number;
  /** Whether it is a private note, which visitors never see */
  private: boolean;
  /** Of an answer of the AI agent: the entries of the knowledge that it used */
  sources: ChatMessageSource[];
  /** Of an answer of the AI agent: what it called, in that order */
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
  /** 1 (worst) to 5 (best) */
  score: number;
  /** At most 2,000 characters; empty without one */
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
  /** Your own stable id of this person, at most 200 characters; null for an anonymous visitor */
  external_id: string | null;
  /** Your own fields; at most 50 keys and 16 KiB */
  attributes: JsonObject;
  /** ISO 8601, UTC, with milliseconds */
  created_at: string;
  /** ISO 8601, UTC, with milliseconds */
  last_seen_at: string | null;
  /** Whether a token of your server named the visitor (`external_id`) */
  verified: boolean;
  /** When an agent blocked the visitor; null while they are not blocked */
  blocked_at: string | null;
  /** IP address of the last visit, without its last part unless the settings keep it whole */
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
  /** Your own stable id of this person, at most 200 characters; null for an anonymous visitor */
  external_id: string | null;
  /** Your own fields; at most 50 keys and 16 KiB */
  attributes: JsonObject;
  /** ISO 8601, UTC, with milliseconds */
  created_at: string;
  /** ISO 8601, UTC, with milliseconds */
  last_seen_at: string | null;
  /** Whether a token of your server named the visitor (`external_id`) */
  verified: boolean;
  /** When an agent blocked the visitor; null while they are not blocked */
  blocked_at: string | null;
  /** IP address of the last visit, without its last part unless the settings keep it whole */
  last_address: string | null;
  /** The newest 20 */
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
  /** Seconds from one fire to the next, 1 to 31,536,000 (one year) */
  everySeconds: number;
  /** IANA time zone in which the schedule is read, such as `Europe/Berlin` */
  timezone: string;
  /** What becomes of fires that fell due while the hub was down. A fire that is at most 10 seconds late is not missed: it always runs */
  onMissed: 'skip' | 'last' | 'all';
  /** With onMissed all: the latest so many are made up for, besides fires that are at most 10 seconds late */
  maxCatchUp: number;
  /** What a fire does while a run of the workflow is under way */
  overlap: 'allow' | 'skip' | 'queue';
  /** Each run begins up to so many seconds after its time */
  jitterSeconds: number;
}

export interface IntervalScheduleInput {
  /** Fires at a fixed interval */
  kind: 'interval';
  /** Seconds from one fire to the next, 1 to 31,536,000 (one year) */
  everySeconds: number;
  /** IANA time zone in which the schedule is read, such as `Europe/Berlin` */
  timezone?: string;
  /** What becomes of fires that fell due while the hub was down. A fire that is at most 10 seconds late is not missed: it always runs */
  onMissed?: 'skip' | 'last' | 'all';
  /** With onMissed all: the latest so many are made up for, besides fires that are at most 10 seconds late */
  maxCatchUp?: number;
  /** What a fire does while a run of the workflow is under way */
  overlap?: 'allow' | 'skip' | 'queue';
  /** Each run begins up to so many seconds after its time */
  jitterSeconds?: number;
}

export interface Knowledge {
  /** In the order of their ids */
  entries: KnowledgeEntry[];
  /** Text that is part of every prompt, at most 20,000 characters; may be empty */
  terms: string;
  /** Vectors by which entries are found besides their words */
  embeddings: {
    /** `off` where the hub has no model for embeddings; `failing` while that one does not answer: it is asked again */
    state: 'off' | 'pending' | 'ready' | 'failing';
    /** Entries that have one */
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
  /** From 0 to 1: how much of what was asked for is found in it */
  score: number;
}

export interface KnowledgePassages {
  /** Entries that match, the best first; at most `limit` */
  passages: KnowledgePassage[];
}

/** Milliseconds, to within 10 %; null without a run */
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
  /** Index of the step that wrote it, from 0 */
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
  /** Text of the line, at most 10,000 characters; may hold `{{…}}` templates */
  message: string;
  /** Severity of the line */
  level: 'debug' | 'info' | 'warn' | 'error';
  /** Later steps refer to it as {{steps.<id>.output}} */
  id?: string;
  /** Label for people, at most 200 characters */
  name?: string;
  /** A template; the step is skipped unless it renders to something truthy */
  when?: string;
  /** Whether the run goes on when the step fails after all tries; default false */
  continueOnError?: boolean;
  /** How failed tries are repeated; the retry policy of the skill when left out */
  retry?: {
    /** Tries in all */
    maxAttempts: number;
    /** Before the second try */
    backoffSeconds: number;
    /** By which each further wait grows */
    factor: number;
  };
  /** Waits so long before the step begins; no worker is held */
  delaySeconds?: number;
  /** For each try */
  timeoutSeconds?: number;
}

export interface LogStepInput {
  /** Writes a line to the log of the run */
  type: 'log';
  /** Text of the line, at most 10,000 characters; may hold `{{…}}` templates */
  message: string;
  /** Severity of the line */
  level?: 'debug' | 'info' | 'warn' | 'error';
  /** Later steps refer to it as {{steps.<id>.output}} */
  id?: string;
  /** Label for people, at most 200 characters */
  name?: string;
  /** A template; the step is skipped unless it renders to something truthy */
  when?: string;
  /** Whether the run goes on when the step fails after all tries; default false */
  continueOnError?: boolean;
  /** How failed tries are repeated; the retry policy of the skill when left out */
  retry?: {
    /** Tries in all */
    maxAttempts: number;
    /** Before the second try */
    backoffSeconds?: number;
    /** By which each further wait grows */
    factor?: number;
  };
  /** Waits so long before the step begins; no worker is held */
  delaySeconds?: number;
  /** For each try */
  timeoutSeconds?: number;
}

export interface ManualTrigger {
  /** Version of the trigger format; 1 is the only one */
  schemaVersion: 1;
  /** Starts only through the API, the dashboard or another run */
  type: 'manual';
}

export interface ManualTriggerInput {
  /** Version of the trigger format; 1 is the only one */
  schemaVersion?: 1;
  /** Starts only through the API, the dashboard or another run */
  type: 'manual';
}

export interface Member {
  /** Id of the member */
  id: string;
  /** Email address with which the member signs in; visitors never see it */
  email: string;
  /** `admin` manages the workspace; `agent` works in it */
  role: 'admin' | 'agent';
  /** What visitors see of the member; null shows a neutral word */
  displayName: string | null;
  /** Path of the picture, relative to the URL of this hub; needs no credentials. Null without a picture. A new picture has a new path. */
  picture: string | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** For admins only. Null where no sign-in is remembered: within half a year, or since the password was set. */
  lastSignInAt?: string | null;
}

export interface MemberPage {
  /** Rows of this page, at most `meta.limit` */
  data: Member[];
  meta: PageMeta;
}

export interface MemberPicture {
  /** The member whom the picture shows */
  userId: string;
  /** Path of the picture, relative to the URL of this hub; needs no credentials */
  picture: string;
  /** `image/png`, `image/jpeg` or `image/webp` */
  contentType: string;
  /** Size of the stored picture, in bytes */
  bytes: number;
  /** In pixels */
  width: number;
  /** In pixels */
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
  /** What visitors see of you; null shows a neutral word */
  displayName: string | null;
  /** Path of the picture, relative to the URL of this hub; needs no credentials. Null without a picture. A new picture has a new path. */
  picture: string | null;
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

export interface ModelPrices {
  /** Of a million tokens in, in millionths of the currency: 1250000 for 1.25 */
  inputMicros: number;
  /** Of a million tokens out, in millionths of the currency: 1250000 for 1.25 */
  outputMicros: number;
  /** Currency code of ISO 4217, such as `USD` */
  currency: string;
}

export interface ModelPricesInput {
  /** Of a million tokens in, in millionths of the currency: 1250000 for 1.25 */
  inputMicros: number;
  /** Of a million tokens out, in millionths of the currency: 1250000 for 1.25 */
  outputMicros: number;
  /** Currency code of ISO 4217, such as `USD` */
  currency: string;
}

export interface Models {
  /** Models of the workspace, at most 20 */
  models: {
    /** Your own name for the model, unique in the workspace; at most 100 characters */
    id: string;
    /** Protocol of the provider */
    provider: 'openai-compatible' | 'openai' | 'anthropic';
    /** As the provider names it */
    model: string;
    /** URL of the API; null for the default URL of the provider */
    baseUrl: string | null;
    /** Whether an API key is stored; the key itself is never shown */
    apiKeySet: boolean;
    /** Prices of its tokens; null when none are set */
    prices: ModelPrices | null;
  }[];
  /** Ids of models in the order in which they are tried */
  order: string[];
  /** The model of the hub, used while `order` is empty; null when it is not used */
  fallback: {
    /** Name of the model at its provider */
    model: string;
    /** Prices of its tokens; null when none are set */
    prices: ModelPrices | null;
  } | null;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string | null;
}

export interface Node {
  /** Id of the node */
  id: string;
  /** Unique among the paired nodes of the workspace: steps may select the node by it */
  name: string;
  /** `pending` until the companion connects for the first time, also after it was paired */
  status: 'pending' | 'online' | 'offline' | 'revoked';
  /** Whether the workspace allows `system.*` commands on the node */
  allowSystem: boolean;
  /** Whether the workspace allows `browser.*` commands on the node */
  allowBrowser: boolean;
  /** What the device reports about itself; null before it was paired */
  device: DeviceInfo | null;
  /** Facts of the last heartbeat; null before the first */
  facts: DeviceFacts | null;
  /** Switched on by the owner of the device: it refuses every command */
  paused: boolean;
  /** The last entry of the device's own log; null until the device reports one */
  audit: {
    /** Number of entries in the log */
    entries: number;
    /** SHA-256 of the last entry, which holds the hash of the entry before */
    hash: string;
    /** When the device first reported a log that was cut, changed or begun anew; null while it never did. It stays for the lifetime of the node: a later report cannot prove that nothing was removed */
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
  /** `leased` while the device has it; `withdrawn` when the run no longer wanted it */
  status: 'pending' | 'leased' | 'succeeded' | 'failed' | 'withdrawn';
  /** Run that sent the command */
  runId: string;
  /** Index of the step that sent it, from 0 */
  stepIndex: number;
  /** Try of the step that sent it, from 1 */
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
    /** What went wrong, for people */
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
  /** When it happened */
  at: string;
  /** Id of the node */
  id: string;
  /** Name of the node */
  name: string;
  /** Status of the node after the change */
  status: 'online' | 'offline' | 'pending' | 'revoked';
  /** What happened to it */
  change: 'created' | 'paired' | 'online' | 'offline' | 'renamed' | 'revoked';
}

/** What a node reported about itself from one time on */
export interface NodeFacts {
  /** What the device reported about itself; null before it was paired */
  device: DeviceInfo | null;
  /** Whether the owner of the device had paused it */
  paused: boolean;
  /** As the workspace had it then */
  allowSystem: boolean;
  /** As the workspace had it then */
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
    /** Number of the display, from 0 */
    index: number;
    /** Name of the display; may be empty */
    name: string;
    /** In pixels */
    width: number;
    /** In pixels */
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
  /** What a workspace needs, in the recommended order */
  steps: {
    /** Stable name of the step */
    id: string;
    /** What to do, in a few words */
    title: string;
    /** Whether the workspace has it */
    done: boolean;
    /** What the step is good for */
    why: string;
    /** What does it */
    request: {
      /** HTTP method */
      method: string;
      /** Path, relative to the URL of the hub */
      path: string;
      /** Example of the JSON body; null for a request without one */
      body: JsonObject | null;
    };
  }[];
  /** Id of the first step that is not done */
  next: string | null;
  /** What the workspace has */
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
  /** Time of the only fire */
  at: string;
  /** IANA time zone in which the schedule is read, such as `Europe/Berlin` */
  timezone: string;
  /** What becomes of fires that fell due while the hub was down. A fire that is at most 10 seconds late is not missed: it always runs */
  onMissed: 'skip' | 'last' | 'all';
  /** With onMissed all: the latest so many are made up for, besides fires that are at most 10 seconds late */
  maxCatchUp: number;
  /** What a fire does while a run of the workflow is under way */
  overlap: 'allow' | 'skip' | 'queue';
  /** Each run begins up to so many seconds after its time */
  jitterSeconds: number;
}

export interface OnceScheduleInput {
  /** Fires once */
  kind: 'at';
  /** Time of the only fire */
  at: string;
  /** IANA time zone in which the schedule is read, such as `Europe/Berlin` */
  timezone?: string;
  /** What becomes of fires that fell due while the hub was down. A fire that is at most 10 seconds late is not missed: it always runs */
  onMissed?: 'skip' | 'last' | 'all';
  /** With onMissed all: the latest so many are made up for, besides fires that are at most 10 seconds late */
  maxCatchUp?: number;
  /** What a fire does while a run of the workflow is under way */
  overlap?: 'allow' | 'skip' | 'queue';
  /** Each run begins up to so many seconds after its time */
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
  /** webhook, email, campaign or the provider of a channel */
  channel: string;
  /** URL, email address or id at the provider */
  recipient: string;
  /** `simulated` in the test environment, where nothing leaves */
  status: 'delivered' | 'simulated' | 'failed';
  /** Facts about the message, such as its subject; the fields depend on `channel` */
  summary: JsonObject;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
}

export interface OutgoingMessagePage {
  /** Rows of this page, at most `meta.limit` */
  data: OutgoingMessage[];
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
  /** `test` keys of Live Chat see and change test visitors and conversations only. `test` keys of Automations share the data of the workspace: their runs are test runs, whose mails, channel messages and webhooks are recorded as simulated and not sent, and they cannot change live workflows, live runs, their approvals, or what live runs use (sequences, agents, tool profiles, channels, nodes, models, the policy). Commands of nodes and calls of models are real in both environments */
  environment: 'live' | 'test';
  /** What the key may do */
  permissions: ('chat:write' | 'chat:read' | 'visitors:read' | 'webhooks:manage' | 'ai:invoke' | 'ai:speak' | 'ai:voice' | 'knowledge:manage' | 'usage:read' | 'automations:manage' | 'automations:read' | 'automations:run' | 'approvals:decide' | 'voice:read' | 'voice:export' | 'connections:manage')[];
  /** ISO 8601, UTC, with milliseconds */
  expiresAt: string | null;
}

export interface OwnTrunk {
  /** Always `own`: a trunk of the workspace */
  mode: 'own';
  /** `registering`: on its way; `registered`; `rejected`: the carrier said no, `lastCode` and `lastReason` are its words; `unreachable`: no SIP answer came; `stopped`: the carrier refused this password three times, and is not asked again before `POST /sip/register` */
  state: 'registering' | 'registered' | 'rejected' | 'unreachable' | 'stopped';
  /** Of the carrier, such as `sip.example.com`, or its address */
  host: string;
  /** Null where the DNS of the host says it */
  port: number | null;
  /** The account at the carrier */
  username: string;
  /** Transport of SIP to the carrier; `tls` also checks the certificate */
  transport: 'udp' | 'tcp' | 'tls';
  /** Whether the carrier sends calls here now */
  registered: boolean;
  /** The SIP status that the last attempt ended with; null where no SIP answer came */
  lastCode: number | null;
  /** The carrier's words for it. Where no SIP answer came: `timeout`, `refused`, `tls_name`, `tls_untrusted`, `dns`, or `address_refused` for a host that leads to a private address. `credentials_rejected` once it stopped, or `password_unreadable` where the hub has another SECRET_KEY than the one that sealed the password; `challenge_not_supported` and `nonce_always_stale` for challenges that nobody can answer; `registration_not_kept` where the carrier took it for no time */
  lastReason: string | null;
  /** Until when the carrier keeps the registration, unless it is renewed */
  expiresAt: string | null;
  /** Null when there will be none */
  nextAttemptAt: string | null;
  /** When the last attempt ended */
  checkedAt: string | null;
}

/** A pack of the catalogue */
export interface Pack {
  /** Lower-case words joined by hyphens, at most 100 characters */
  id: string;
  /** Label for people, at most 200 characters */
  name: string;
  /** Three numbers such as `1.0.0` */
  version: string;
  /** Who publishes the pack, at most 200 characters */
  publisher: string;
  /** What the pack does, for people */
  summary: string;
  /** What a workflow of the pack must be given: a part of JSON Schema */
  inputsSchema: {
    /** Always `object` */
    type: 'object';
    /** Inputs by name */
    properties: JsonObject;
    /** Names of the inputs that must be given, at most 50 */
    required: string[];
  };
  /** Every skill that its graph uses */
  skills: string[];
  /** Hosts that it calls or opens: a name, with its port unless that is its scheme's own, or `inputs.<name>` for the host of an input of format uri */
  hosts: string[];
  /** Names of inputs that hold a secret */
  secrets: string[];
  /** What it does on a companion node */
  nodePowers: ('ping' | 'screen' | 'camera' | 'audio' | 'files' | 'browser' | 'system')[];
  /** Trigger and steps of the workflow that the pack makes */
  graph: {
    /** As triggerJson of a workflow; {{inputs.<name>}} stands for an input */
    trigger: JsonObject;
    /** As stepsJson of a workflow; a step with `ifInput` is left out where that input is empty */
    steps: JsonObject[];
  };
  /** `shipped` with the hub, `hub` for one that the operator published for all workspaces, or `published` by this workspace */
  source: 'shipped' | 'hub' | 'published';
  /** Version that this workspace has installed; null when it is not installed */
  installedVersion: string | null;
}

/** What a pack may do */
export interface PackGrants {
  /** Skills that the pack calls */
  skills: {
    /** Id in the catalogue of skills */
    id: string;
    /** Title of the skill, for people */
    title: string;
    /** What the skill does to the world, for people */
    effect: string;
  }[];
  /** Hosts that the pack calls or opens */
  hosts: string[];
  /** Names of inputs that hold a secret */
  secrets: string[];
  /** What the pack does on companion nodes */
  nodePowers: ('ping' | 'screen' | 'camera' | 'audio' | 'files' | 'browser' | 'system')[];
  /** Whether a person approves something in each run */
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
  /** Reaches every agent's prompt */
  standingOrders: string;
  /** No run begins within them; it waits for their end */
  quietHours: QuietHours | null;
  /** Further runs wait */
  maxRunsPerHour: number | null;
  /** Skills before which somebody must approve; `*` stands for any part of a name */
  approvalsRequiredFor: string[];
  /** Email addresses of the members who alone decide approvals whose step names no approvers, those of `system.run` included. Each must be a member of the workspace, also when they decide. Applies to approvals requested from now on */
  defaultApprovers: JsonValue[];
  /** Step approvals without named approvers are decided as those of `system.run`: by a signed-in user, or by a key that carries `approvals:decide` itself; never by a starter of the run or an author of what it does */
  stepApprovalsNeedPerson: boolean;
  /** While a workspace has one member, this user may decide approvals of commands that they wrote or started, signed in; never by a key */
  soleMemberMayDecideOwnRuns: boolean;
  /** Workflow that runs whenever another run fails, with the payload `{ "run": { "id", "workflowId", "attempt", "trigger", "error": { "code", "message" } } }`: its steps read `{{payload.run.id}}`. Null for none. A failed run of the error workflow itself starts nothing */
  errorWorkflowId: string | null;
  /** Ended runs beyond it are removed; when null, those older than this installation keeps them */
  retention: Retention | null;
  /** Null until it is first set */
  updatedAt: string | null;
}

export interface PutAiBudget {
  /** Tokens in and out of a day, UTC; null for no limit */
  dailyTokens: number | null;
  /** Cost of a day, UTC, of the calls of models with prices in this currency; null for no limit */
  dailyCost: {
    /** Currency code of ISO 4217, such as `USD` */
    currency: string;
    /** Millionths of the currency */
    micros: number;
  } | null;
  /** Seconds of sound that are transcribed in a day, UTC; null for the limit of the hub, which also bounds a higher one; unchanged when left out */
  dailySpeechSeconds?: number | null;
  /** Characters that are spoken in a day, UTC; null for the limit of the hub, which also bounds a higher one; unchanged when left out */
  dailySpeechCharacters?: number | null;
}

export interface PutChannel {
  /** Changes this channel; a new one when left out */
  id?: string;
  /** Service that carries the messages; can not be changed later */
  provider: 'telegram' | 'slack' | 'whatsapp' | 'webhook' | 'email';
  /** Label for people, 1 to 200 characters */
  name: string;
  /** By provider. telegram: botToken, inboundSecret. slack: botToken, signingSecret. whatsapp: accessToken, phoneNumberId, appSecret, verifyToken. webhook: inboundSecret, url?, signingSecret?. email: inboundSecret, senderName?, replyTo?. In a change, a config that is left out is kept. In one that is given, apiBaseUrl and each secret keep their value when left out; but a token goes only to the apiBaseUrl that it was set for, and must be given anew with another one, and a signingSecret is dropped with its url */
  config?: Record<string, unknown>;
  /** Another name of config; send one of the two */
  config_json?: Record<string, unknown>;
  /** Whether the channel accepts and sends messages. True for a new channel; a change keeps the value when left out */
  active?: boolean;
  /** With true, an inbound message opens or continues a Live Chat conversation of its sender, and replies in it are sent through the channel. Requires the entitlement conversations_suite. False for a new channel; a change keeps the value when left out */
  conversations?: boolean;
}

export interface PutKnowledge {
  /** Replaces all entries; at most 5,000 */
  entries: {
    /** Unique among the entries; answers name it as their source */
    id: string;
    /** Question that the entry answers, 1 to 1,000 characters */
    question: string;
    /** Answer, 1 to 20,000 characters */
    answer: string;
    /** Where visitors can read more */
    url?: string | null;
    /** Language code, such as de or pt-BR */
    locale?: string | null;
  }[];
  /** What holds for every answer, such as the terms of business; part of each prompt */
  terms: string;
}

export interface PutModels {
  /** Replaces all models; at most 20 */
  models: {
    /** Your own name for the model, unique in the workspace; at most 100 characters */
    id: string;
    /** Protocol of the provider */
    provider: 'openai-compatible' | 'openai' | 'anthropic';
    /** As the provider names it */
    model: string;
    /** Needed for openai-compatible */
    baseUrl?: string;
    /** Write only; the one that was set before for the same provider and baseUrl is kept when left out */
    apiKey?: string;
    /** What its tokens cost; without them they are counted, and nothing else */
    prices?: ModelPricesInput;
  }[];
  /** Ids in the order in which they are tried */
  order: string[];
}

export interface PutPolicy {
  /** Reaches every agent's prompt */
  standingOrders?: string;
  /** No run begins within them; it waits for their end */
  quietHours?: QuietHoursInput | null;
  /** Further runs wait */
  maxRunsPerHour?: number | null;
  /** Skills before which somebody must approve; `*` stands for any part of a name */
  approvalsRequiredFor?: string[];
  /** Email addresses of the members who alone decide approvals whose step names no approvers, those of `system.run` included. Each must be a member of the workspace, also when they decide. Applies to approvals requested from now on */
  defaultApprovers?: string[];
  /** Step approvals without named approvers are decided as those of `system.run`: by a signed-in user, or by a key that carries `approvals:decide` itself; never by a starter of the run or an author of what it does */
  stepApprovalsNeedPerson?: boolean;
  /** While a workspace has one member, this user may decide approvals of commands that they wrote or started, signed in; never by a key */
  soleMemberMayDecideOwnRuns?: boolean;
  /** Workflow that runs whenever another run fails, with the payload `{ "run": { "id", "workflowId", "attempt", "trigger", "error": { "code", "message" } } }`: its steps read `{{payload.run.id}}`. Null for none. A failed run of the error workflow itself starts nothing */
  errorWorkflowId?: string | null;
  /** Ended runs beyond it are removed; when null, those older than this installation keeps them */
  retention?: RetentionInput | null;
}

export interface PutToolProfile {
  /** Changes this profile; a new one when left out */
  id?: string;
  /** Label for people, 1 to 200 characters */
  name: string;
  /** Skills that may be called; `*` stands for any part of a name */
  allow: string[];
  /** Wins over allow */
  deny?: string[];
}

export interface QuietHours {
  /** Local time at which they begin, `HH:MM` */
  from: string;
  /** Earlier than `from` when it lies on the next day */
  to: string;
  /** IANA time zone of `from` and `to`, such as `Europe/Berlin` */
  timezone: string;
  /** Days of the week on which they begin, 0 for Sunday; every day when left out */
  days?: number[];
}

export interface QuietHoursInput {
  /** Local time at which they begin, `HH:MM` */
  from: string;
  /** Earlier than `from` when it lies on the next day */
  to: string;
  /** IANA time zone of `from` and `to`, such as `Europe/Berlin` */
  timezone?: string;
  /** Days of the week on which they begin, 0 for Sunday; every day when left out */
  days?: number[];
}

export interface ReadyEvent {
  /** The stream is open; events from now on are sent */
  type: 'ready';
  /** When it happened */
  at: string;
}

export interface RegisterOwnTrunk {
  /** Host name or IP address of the carrier, without a port; at most 253 characters */
  host: string;
  /** Left out, the DNS says it by the SRV records of the host; without any it is 5060, or 5061 for tls */
  port?: number;
  /** Account at the carrier, at most 128 characters of printable ASCII */
  username: string;
  /** Write only. May be left out while `host` and `username` stay as they are, and `tls` is not given up */
  password?: string;
  /** `tls` checks the certificate and its name */
  transport?: 'udp' | 'tcp' | 'tls';
}

export interface RemovedMember {
  /** Id of what was deleted */
  id: string;
  /** Always true; a failure is an error answer */
  deleted: true;
  /** Keys that they made and that worked */
  keys: {
    /** Id of the key */
    id: string;
    /** Label for people, at most 200 characters */
    name: string;
    /** Product whose API the key can call */
    product: 'chat' | 'ai' | 'automations' | 'voice';
    /** `test` keys of Live Chat see and change test visitors and conversations only. `test` keys of Automations share the data of the workspace: their runs are test runs, whose mails, channel messages and webhooks are recorded as simulated and not sent, and they cannot change live workflows, live runs, their approvals, or what live runs use (sequences, agents, tool profiles, channels, nodes, models, the policy). Commands of nodes and calls of models are real in both environments */
    environment: 'live' | 'test';
    /** What the key may do */
    permissions: ('chat:write' | 'chat:read' | 'visitors:read' | 'webhooks:manage' | 'ai:invoke' | 'ai:speak' | 'ai:voice' | 'knowledge:manage' | 'usage:read' | 'automations:manage' | 'automations:read' | 'automations:run' | 'approvals:decide' | 'voice:read' | 'voice:export' | 'connections:manage')[];
    /** The key without its secret */
    keyHint: string;
    /** CIDR blocks or addresses that may use the key; every address when empty */
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

export interface RequestPasswordReset {
  /** The address with which the user signs in */
  email: string;
}

export interface ResetEvent {
  /** Events are missing; read the lists again */
  type: 'reset';
  /** When it happened */
  at: string;
  /** Why events are missing, for people */
  message: string;
}

export interface ResetPassword {
  /** The `token` in the address of the mailed link */
  token: string;
  /** The new password, with at least 12 characters */
  password: string;
}

export interface Retention {
  /** Days for which ended runs are kept, 1 to 3,650; no limit by age when left out */
  maxAgeDays?: number;
  /** Number of ended runs that are kept, the newest; no limit by number when left out */
  maxRuns?: number;
}

export interface RetentionInput {
  /** Days for which ended runs are kept, 1 to 3,650; no limit by age when left out */
  maxAgeDays?: number;
  /** Number of ended runs that are kept, the newest; no limit by number when left out */
  maxRuns?: number;
}

export interface RetryRuns {
  /** Runs by id, 1 to 100; give either `ids` or `filter` */
  ids?: string[];
  /** Selects the newest runs that match; give either `ids` or `filter` */
  filter?: {
    /** Only runs of this workflow; runs of every workflow when left out */
    workflowId?: string;
    /** Any of these when left out */
    status?: 'failed' | 'cancelled';
    /** Queued at this time or later */
    from?: string;
    /** Queued before this time */
    to?: string;
    /** `next` of the answer before */
    olderThan?: string;
  };
  /** Of a filter: runs that are taken on at once, the newest first */
  limit?: number;
}

export interface RevokedLinks {
  /** Number of links that stopped working */
  revoked: number;
}

export interface Run {
  /** Id of the run */
  id: string;
  /** Workflow that the run executes */
  workflowId: string;
  /** What its workflow is called now */
  workflowName: string;
  /** Version of the workflow that the run executes, from 1 */
  workflowVersion: number;
  /** Flow that the run and its retries share */
  flowId: string;
  /** `waiting_approval` until a person decides; `succeeded`, `failed` and `cancelled` are final unless the run is retried */
  status: 'queued' | 'running' | 'waiting_approval' | 'succeeded' | 'failed' | 'cancelled';
  /** Why it does not go on now; null while a worker has it or is about to, and once it has ended */
  waitsFor: RunWait | null;
  /** What started the run; fields besides `type` depend on the type */
  trigger: {
    /** Type of the trigger, such as `manual`, `schedule`, `webhook`, `event` or `channel` */
    type: string;
  };
  /** Number of the attempt within its flow, from 1; each retry adds one */
  attempt: number;
  /** Environment of the key or trigger that started the run; in `test` nothing leaves the platform */
  environment: 'live' | 'test';
  /** The run whose step waits for this one */
  parentRunId: string | null;
  /** How many runs, each started by the one before, led to this one */
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

export interface RunEvent {
  /** A run changed */
  type: 'run';
  /** When it happened */
  at: string;
  /** Id of the run */
  id: string;
  /** Workflow of the run */
  workflowId: string;
  /** Status of the run after the change */
  status: 'queued' | 'running' | 'waiting_approval' | 'succeeded' | 'failed' | 'cancelled';
  /** The `code` of its `error` */
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
  /** What its workflow is called now */
  workflowName: string;
  /** Version of the workflow that the run executes, from 1 */
  workflowVersion: number;
  /** Flow that the run and its retries share */
  flowId: string;
  /** `waiting_approval` until a person decides; `succeeded`, `failed` and `cancelled` are final unless the run is retried */
  status: 'queued' | 'running' | 'waiting_approval' | 'succeeded' | 'failed' | 'cancelled';
  /** Why it does not go on now; null while a worker has it or is about to, and once it has ended */
  waitsFor: RunWait | null;
  /** What started the run; fields besides `type` depend on the type */
  trigger: {
    /** Type of the trigger, such as `manual`, `schedule`, `webhook`, `event` or `channel` */
    type: string;
  };
  /** Number of the attempt within its flow, from 1; each retry adds one */
  attempt: number;
  /** Environment of the key or trigger that started the run; in `test` nothing leaves the platform */
  environment: 'live' | 'test';
  /** The run whose step waits for this one */
  parentRunId: string | null;
  /** How many runs, each started by the one before, led to this one */
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
  /** The step that waits */
  stepIndex: number;
  /** Approval that must be decided */
  approvalId: string;
  /** When it expires; null without an end */
  until: string | null;
}

export interface RunWaitForDelay {
  /** A step waits for its `delaySeconds` */
  kind: 'delay';
  /** The step that waits */
  stepIndex: number;
  /** ISO 8601, UTC, with milliseconds */
  until: string;
}

export interface RunWaitForJitter {
  /** The run waits for the random delay of its schedule */
  kind: 'jitter';
  /** When it begins, by the jitter of its schedule */
  until: string;
}

export interface RunWaitForLimit {
  /** The run waits for a concurrency or rate limit */
  kind: 'limit';
  /** The limit that has no room; `earlier_runs`: it stands in line behind another run of its workflow */
  limit: 'earlier_runs' | 'max_concurrent_runs' | 'max_runs_per_minute' | 'max_runs_per_hour';
  /** When there will be room; null when that depends on other runs */
  until: string | null;
}

export interface RunWaitForNode {
  /** A step waits for a companion node */
  kind: 'node_command';
  /** The step that waits */
  stepIndex: number;
  /** Command that the node must answer */
  commandId: string;
  /** Node that the command is for */
  nodeId: string;
  /** Current name of the node */
  nodeName: string;
  /** Whether the node can be reached now */
  nodeOnline: boolean;
  /** Whether the node has the command; otherwise it waits to be fetched */
  handedOut: boolean;
  /** The end of its time: to be fetched, or on the device once it was */
  until: string;
}

export interface RunWaitForQuietHours {
  /** The run waits for the end of the quiet hours of the policy */
  kind: 'quiet_hours';
  /** The end of them; null when an earlier run of its workflow is first */
  until: string | null;
}

export interface RunWaitForRetry {
  /** A step waits before its next try */
  kind: 'retry';
  /** The step that waits */
  stepIndex: number;
  /** ISO 8601, UTC, with milliseconds */
  until: string;
}

export interface RunWaitForRun {
  /** A step waits for a run that it started */
  kind: 'run';
  /** The step that waits */
  stepIndex: number;
  /** Run that the step waits for */
  runId: string;
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

export interface Sequence {
  /** Id of the sequence */
  id: string;
  /** Label for people, at most 200 characters */
  name: string;
  /** Each may wait `delaySeconds` before it begins */
  steps: Step[];
  /** The workflow that running it made; null before its first run */
  workflowId: string | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
}

export interface SequencePage {
  /** Rows of this page, at most `meta.limit` */
  data: Sequence[];
  meta: PageMeta;
}

export interface Session {
  /** Id of the session */
  id: string;
  /** What the session is about: a person, a group, a run, a channel or the workspace */
  scope: 'dm' | 'group' | 'run' | 'channel' | 'workspace';
  /** Unique together with `scope`, at most 200 characters */
  key: string;
  /** Label for people, at most 200 characters; may be empty */
  title: string;
  /** What is remembered of the older part of the transcript */
  memorySummary: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
}

export interface SessionMessage {
  /** Id of the message */
  id: string;
  /** Who wrote it, in the terms of language models */
  role: 'user' | 'assistant' | 'system';
  /** Text of the message, at most 20,000 characters */
  content: string;
  /** Run that wrote it; null for other writers */
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
  /** What the session is about: a person, a group, a run, a channel or the workspace */
  scope: 'dm' | 'group' | 'run' | 'channel' | 'workspace';
  /** Unique together with `scope`, at most 200 characters */
  key: string;
  /** Label for people, at most 200 characters; may be empty */
  title: string;
  /** What is remembered of the older part of the transcript */
  memorySummary: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
  /** One page of the messages */
  transcript: {
    /** Oldest first */
    data: SessionMessage[];
    meta: PageMeta;
  };
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
  /** The account of the workspace at `domain` */
  username: string;
  /** Shown this once */
  password: string;
}

export interface Skill {
  /** Stable id, which steps name as `skillId` */
  id: string;
  /** Title, for people */
  title: string;
  /** What it does and what it needs, for people */
  summary: string;
  /** What the workspace must be entitled to */
  requires: string[];
  /** What it does to the world, for people */
  effect: string;
  /** Whether a person approves each use in this workspace: always, or by its policy as it is now */
  needsApproval: boolean;
  /** JSON Schema of its input */
  input: JsonObject;
  /** JSON Schema of its output; a later version may add to it */
  output: JsonObject;
}

export interface SkillStep {
  /** Calls a skill */
  type: 'skill';
  /** Id in the catalogue of skills, such as `memory.write` */
  skillId: string;
  /** Input of the skill; texts may hold `{{…}}` templates */
  input: JsonObject;
  /** Later steps refer to it as {{steps.<id>.output}} */
  id?: string;
  /** Label for people, at most 200 characters */
  name?: string;
  /** A template; the step is skipped unless it renders to something truthy */
  when?: string;
  /** Whether the run goes on when the step fails after all tries; default false */
  continueOnError?: boolean;
  /** How failed tries are repeated; the retry policy of the skill when left out */
  retry?: {
    /** Tries in all */
    maxAttempts: number;
    /** Before the second try */
    backoffSeconds: number;
    /** By which each further wait grows */
    factor: number;
  };
  /** Waits so long before the step begins; no worker is held */
  delaySeconds?: number;
  /** For each try */
  timeoutSeconds?: number;
}

export interface SkillStepInput {
  /** Calls a skill */
  type: 'skill';
  /** Id in the catalogue of skills, such as `memory.write` */
  skillId: string;
  /** Input of the skill; texts may hold `{{…}}` templates */
  input?: Record<string, unknown>;
  /** Later steps refer to it as {{steps.<id>.output}} */
  id?: string;
  /** Label for people, at most 200 characters */
  name?: string;
  /** A template; the step is skipped unless it renders to something truthy */
  when?: string;
  /** Whether the run goes on when the step fails after all tries; default false */
  continueOnError?: boolean;
  /** How failed tries are repeated; the retry policy of the skill when left out */
  retry?: {
    /** Tries in all */
    maxAttempts: number;
    /** Before the second try */
    backoffSeconds?: number;
    /** By which each further wait grows */
    factor?: number;
  };
  /** Waits so long before the step begins; no worker is held */
  delaySeconds?: number;
  /** For each try */
  timeoutSeconds?: number;
}

/** How runs, nodes, deliveries and models did in a window */
export interface Slo {
  /** Length of the window that ends now */
  window: '1h' | '24h' | '7d' | '30d';
  /** ISO 8601, UTC, with milliseconds */
  from: string;
  /** ISO 8601, UTC, with milliseconds */
  to: string;
  /** Runs that ended within the window */
  runs: {
    /** Runs that ended in the window */
    total: number;
    /** Runs that ended with success */
    succeeded: number;
    /** Runs that ended with a failure */
    failed: number;
    /** Runs that were cancelled */
    cancelled: number;
    /** Succeeded of those that succeeded or failed, 0 to 1 */
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
    /** From handing a command out to its result */
    commandLatencyMs: Latency;
  };
  /** Messages that runs sent to URLs in the window */
  webhooks: {
    /** Messages that the URL accepted */
    delivered: number;
    /** Messages that were not delivered */
    failed: number;
  };
  /** Models that were called, the most used first, at most 50; counted by the hour, the one in which the window begins as a whole */
  models: {
    /** Of the models of the workspace; null for the one of the hub */
    modelId: string | null;
    /** Name of the model at its provider */
    model: string;
    /** Each try for itself */
    calls: number;
    /** How many ended how: answered, timeout, http_429, aborted and the like */
    outcomes: JsonObject;
    /** Of answered calls, to the end of the answer */
    latencyMs: Latency;
    /** Tokens that were sent to the model */
    inputTokens: number;
    /** Tokens that the model wrote */
    outputTokens: number;
    /** In millionths of each currency, where prices are set */
    costs: {
      /** Currency code of ISO 4217, such as `USD` */
      currency: string;
      /** Cost in millionths of the currency */
      micros: number;
    }[];
    /** Now: an open one has the model left alone, because it failed too often */
    breaker: 'closed' | 'open' | 'half_open';
  }[];
}

export interface Speak {
  /** What was said, in code points; empty asks for a greeting */
  text?: string;
  /** The language of the answer, by BCP 47; that of the text when left out */
  locale?: string;
  /** Whether nobody of the business listens in */
  automaticAgent?: boolean;
  /** Facts for the answer, in code points; quoted as data */
  context?: string;
  /** Taken, and used for nothing */
  sessionId?: string;
}

export interface Spoken {
  /** Answer to be spoken */
  text: string;
  /** Always true: the answer is complete */
  done: true;
}

export interface StartedRun {
  /** Id of the run that was started */
  runId: string;
  /** Status of the run when the answer was written */
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
  /** Reason that the decider gave; null without one */
  note: string | null;
}

export interface StepEvent {
  /** A step of a run changed */
  type: 'step';
  /** When it happened */
  at: string;
  /** Run of the step */
  runId: string;
  /** Position of the step, from 0 */
  index: number;
  /** Status of the step after the change */
  status: 'pending' | 'running' | 'succeeded' | 'failed' | 'skipped' | 'waiting_approval';
  /** Tries so far, the first included */
  attempts: number;
  /** The `code` of its `error` */
  errorCode: string | null;
}

export type StepInput = SkillStepInput | LogStepInput | ApprovalStepInput | AgentStepInput | DeliverStepInput;

export interface StepResult {
  /** Position of the step in the workflow, from 0 */
  index: number;
  /** `id` of the step in the workflow; null without one */
  id: string | null;
  /** Type of the step: `skill`, `log`, `approval`, `agent` or `deliver` */
  type: string;
  /** Skill that the step calls; null for other types of steps */
  skillId: string | null;
  /** `skipped` when its `when` was false; `waiting_approval` until a person decides */
  status: 'pending' | 'running' | 'succeeded' | 'failed' | 'skipped' | 'waiting_approval';
  /** Tries so far, the first included */
  attempts: number;
  /** ISO 8601, UTC, with milliseconds */
  startedAt: string | null;
  /** ISO 8601, UTC, with milliseconds */
  finishedAt: string | null;
  /** What it was called with, its templates filled in: the input of its skill, the title and message of an approval, the prompt of an agent; of several tries the last. Null before it was called, and where `inputOmitted` says so */
  input: JsonObject | null;
  /** Whether the input was left out: it takes up more than 65536 bytes as JSON, or nests too deeply */
  inputOmitted: boolean;
  /** Output of the step as JSON; null until it has one */
  output: JsonObject | null;
  /** The output as text; null until there is one */
  outputText: string | null;
  /** Why the last try failed; null otherwise */
  error: Failure | null;
  /** The latest approval that the step asked for in this run */
  approval: StepApproval | null;
  /** Artefacts that its commands to nodes brought, oldest first, also those of failed tries and of an earlier attempt whose result is kept; the newest 1000 of a run */
  artifactIds: string[];
}

export interface ToolProfile {
  /** Id of the tool profile */
  id: string;
  /** Label for people, at most 200 characters */
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
  /** As it was asked last */
  question: string;
  /** How often it was asked, without regard to case, marks and punctuation */
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
  /** Label for people, 1 to 200 characters */
  name?: string;
  /** Instructions for the model, at most 50,000 characters */
  systemPrompt?: string;
  /** Profile that says which skills the agent may call; null for none */
  toolProfileId?: string | null;
  /** Keys that route inbound messages to this agent, at most 50 */
  routeKeys?: string[];
  /** Id of a model of the workspace; null for the failover order */
  model?: string | null;
}

export interface UpdateSequence {
  /** Label for people, 1 to 200 characters */
  name?: string;
  /** Replaces all steps; 1 to 200 */
  steps?: StepInput[];
}

export interface UploadState {
  /** Name of the artifact, unique in its command */
  name: string;
  /** Bytes that the hub has: where the next piece begins */
  received: number;
  /** Size of the whole artefact; null before the first piece */
  bytes: number | null;
  /** All bytes are there and have the checksum; a result may name the artefact in `uploads` */
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
  /** When the use was recorded */
  createdAt: string;
}

export interface UsageEventPage {
  /** Rows of this page, at most `meta.limit` */
  data: UsageEvent[];
  meta: PageMeta;
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
  /** Your own stable id of this person, at most 200 characters; null for an anonymous visitor */
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
  /** Display name of the assigned agent; null where nobody is assigned or the agent has none */
  agentName: string | null;
  /** Path of the picture of the assigned agent, relative to the URL of this hub; null without one */
  agentPicture: string | null;
  /** Whether somebody of the workspace is there */
  agentOnline: boolean;
  /** Where an AI agent answers; POST /widget/v1/handoff asks for a person */
  assistant: {
    /** What the workspace says of it; may be empty */
    disclosure: string;
  } | null;
  /** When it was closed last; null if it never was */
  closedAt: string | null;
  /** Whether this conversation is closed and the visitor has another one that is not: POST /widget/v1/conversations opens it */
  isContinued: boolean;
  /** Of the last closing */
  rating: ChatRating | null;
  /** Whether it can be given or changed now */
  ratingOffered: boolean;
}

export interface VisitorConversationFrame {
  /** The conversation changed */
  type: 'conversation';
  conversation: VisitorConversation;
}

/** Of an answer that is being written; the message takes its place */
export interface VisitorDeltaFrame {
  /** A part of an answer that the AI agent is writing */
  type: 'delta';
  /** That the message will have */
  id: string;
  /** How much of it came before, in UTF-16 units: what does not fit there was preceded by one that was lost */
  at: number;
  /** Text that follows the parts before */
  text: string;
  /** Whether there will be no such message */
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
  /** Sent as `Authorization: Bearer` */
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
  /** Someone started or stopped typing */
  type: 'typing';
  /** `agent` for a person, `ai` for the AI agent */
  who: 'agent' | 'ai';
  /** Display name of the agent; null without one */
  name: string | null;
  /** False when typing stopped */
  typing: boolean;
}

export interface VoiceAnswer {
  /** The answer */
  text: string;
  /** The answer as PCM, signed, 16 bits, little-endian, mono, of `sampleRate` */
  audioBase64: string;
  /** Always true: the answer is complete */
  done: true;
}

export interface VoiceRequest {
  /** What was said, in code points. Where there is audio too, this comes before what is said in it */
  text?: string;
  /** PCM, signed, 16 bits, little-endian, mono; or a WAV, whose declared lengths count for nothing. At most 300 seconds */
  audioBase64?: string;
  /** Samples a second of the PCM that comes and of that which is answered. A WAV that comes says its own */
  sampleRate?: number;
  /** The language that is spoken and answered in, by BCP 47; that of what was said when left out */
  locale?: string;
}

export interface Webhook {
  /** Id of the webhook */
  id: string;
  /** https URL that receives the events, at most 2,000 characters */
  url: string;
  /** Types of events that are sent */
  events: ('message.created' | 'conversation.created' | 'conversation.closed' | 'conversation.assigned' | 'csat.submitted' | 'visitor.created')[];
  /** Label for people, at most 500 characters; may be empty */
  description: string;
  /** Whether events are sent; while it is false, no new events are recorded */
  active: boolean;
  /** Only events of this environment are sent */
  environment: 'live' | 'test';
  /** Private notes never leave */
  includePrivate: false;
  /** The end of the secret */
  secretHint: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
  /** Why the hub switched it off; null when it did not */
  disabledReason: string | null;
}

export interface WebhookDelivery {
  /** Id of the delivery */
  id: string;
  /** The same at each try */
  eventId: string;
  /** Type of the event */
  event: 'message.created' | 'conversation.created' | 'conversation.closed' | 'conversation.assigned' | 'csat.submitted' | 'visitor.created';
  /** `failed` is tried again, `exhausted` is not */
  status: 'pending' | 'delivered' | 'failed' | 'exhausted' | 'cancelled';
  /** Attempts so far */
  attempts: number;
  /** Null when none is planned, while one is under way, and while the event before it is still to be tried */
  nextAttemptAt: string | null;
  /** HTTP status of the last response; null when there was none */
  responseStatus: number | null;
  /** Duration of the last attempt, in milliseconds; null before the first */
  responseMs: number | null;
  /** Why the last attempt failed; null when it did not */
  lastError: string | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
}

export interface WebhookDeliveryDetail {
  /** Id of the delivery */
  id: string;
  /** The same at each try */
  eventId: string;
  /** Type of the event */
  event: 'message.created' | 'conversation.created' | 'conversation.closed' | 'conversation.assigned' | 'csat.submitted' | 'visitor.created';
  /** `failed` is tried again, `exhausted` is not */
  status: 'pending' | 'delivered' | 'failed' | 'exhausted' | 'cancelled';
  /** Attempts so far */
  attempts: number;
  /** Null when none is planned, while one is under way, and while the event before it is still to be tried */
  nextAttemptAt: string | null;
  /** HTTP status of the last response; null when there was none */
  responseStatus: number | null;
  /** Duration of the last attempt, in milliseconds; null before the first */
  responseMs: number | null;
  /** Why the last attempt failed; null when it did not */
  lastError: string | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** What is sent, byte for byte; empty once the conversation is erased */
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
    /** The first 2 KiB of the answer */
    response: string;
  }[];
}

export interface WebhookDeliveryPage {
  /** Rows of this page, at most `meta.limit` */
  data: WebhookDelivery[];
  meta: PageMeta;
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
    /** Callers of the inbound hook send it as X-Service-Automation-Token; it starts the workflow, so make it of at least 16 random bytes. When left out, a change keeps the token and a new trigger gets a random one. It opens at most 100 workflows of a workspace. Answers show it to users with the role `admin` and to keys with `automations:manage`; others see it only in the answer to the request that sets it */
    token?: string;
    /** Events that start the workflow when a call of the inbound hook names an `event` and no `workflowId`; every event when left out. A call with a `workflowId` starts the workflow whatever its `event` */
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
    /** Callers of the inbound hook send it as X-Service-Automation-Token; it starts the workflow, so make it of at least 16 random bytes. When left out, a change keeps the token and a new trigger gets a random one. It opens at most 100 workflows of a workspace. Answers show it to users with the role `admin` and to keys with `automations:manage`; others see it only in the answer to the request that sets it */
    token?: string;
    /** Events that start the workflow when a call of the inbound hook names an `event` and no `workflowId`; every event when left out. A call with a `workflowId` starts the workflow whatever its `event` */
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
  /** Label for people, at most 500 characters; may be empty */
  description: string;
  /** Whether events are sent; while it is false, no new events are recorded */
  active: boolean;
  /** Only events of this environment are sent */
  environment: 'live' | 'test';
  /** Private notes never leave */
  includePrivate: false;
  /** The end of the secret */
  secretHint: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
  /** Why the hub switched it off; null when it did not */
  disabledReason: string | null;
  /** The secret that signs, shown only now: `whsec_` and 32 bytes as base64 */
  secret: string;
}

export interface Workflow {
  /** Id of the workflow */
  id: string;
  /** Label for people, at most 200 characters */
  name: string;
  /** Whether its trigger starts runs; an inactive workflow can not be started */
  active: boolean;
  triggerJson: Trigger;
  /** Steps in the order in which they run, 1 to 200 */
  stepsJson: Step[];
  /** Version, from 1; each change of steps, trigger or limits adds one */
  version: number;
  /** Limits on its runs; null for none */
  limits: WorkflowLimits | null;
  /** Which payload its runs take; null for any */
  inputs: WorkflowInputs | null;
  /** `test` for a workflow that an API key of environment `test` created: all its runs are test runs until a live key or a user saves it. A test key cannot change or delete a live workflow */
  environment: 'live' | 'test';
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
  /** When its schedule fires next; null without one */
  nextRunAt: string | null;
}

/** JSON Schema of the payload that a run takes, of type `object`. Known are `type` (string, number, integer, boolean, array or object; in each schema), `title`, `description`, `default`, `enum`, `minimum`, `maximum`, `minLength`, `maxLength`, `pattern`, `items`, `minItems`, `maxItems`, `properties`, `required` and `additionalProperties` (true or false). At most 64 KiB, 500 schemas and 8 levels; a `pattern` has neither back references nor looks around. Whatever a caller starts a run with is checked by it (by hand, a dry run, a sequence, the inbound hook, `subagent.spawn`); what schedules, channels and events bring is not. Defaults are filled in for all of them. */
export type WorkflowInputs = JsonObject;

export interface WorkflowLimits {
  /** Runs in progress at the same time, 1 to 1,000; no limit when left out */
  maxConcurrentRuns?: number;
  /** Runs that begin within any minute */
  maxRunsPerMinute?: number;
  /** `queue` lets it wait for its turn, `drop` refuses it (409 `workflow_limit_reached`), `replace` cancels what is under way */
  onLimit: 'queue' | 'drop' | 'replace';
}

export interface WorkflowLimitsInput {
  /** Runs in progress at the same time, 1 to 1,000; no limit when left out */
  maxConcurrentRuns?: number;
  /** Runs that begin within any minute */
  maxRunsPerMinute?: number;
  /** `queue` lets it wait for its turn, `drop` refuses it (409 `workflow_limit_reached`), `replace` cancels what is under way */
  onLimit?: 'queue' | 'drop' | 'replace';
}

export interface WorkflowPage {
  /** Rows of this page, at most `meta.limit` */
  data: Workflow[];
  meta: PageMeta;
}

export interface WorkflowVersion {
  /** Version, from 1; higher is newer */
  version: number;
  /** Name of the workflow in this version */
  name: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** Steps of this version, in the order in which they run */
  stepsJson: Step[];
  /** Which payload runs of this version take; null for any */
  inputs: WorkflowInputs | null;
}

export interface WorkflowVersionSummary {
  /** Version, from 1; higher is newer */
  version: number;
  /** Name of the workflow in this version */
  name: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
}

export interface WorkflowVersionSummaryPage {
  /** Rows of this page, at most `meta.limit` */
  data: WorkflowVersionSummary[];
  meta: PageMeta;
}

export type WorkspaceEvent = RunEvent | StepEvent | ApprovalEvent | NodeEvent | CallEvent | ReadyEvent | ResetEvent | EndEvent;

/** What each operation takes and answers. */
export interface Operations {
  /** Mint a hosted chat link for a person */
  createChatSession: {
    input: {
      body: {
        /** Your own stable id of this person */
        externalId: string;
        /** Shown to agents */
        displayName?: string;
        /** Email address of the visitor; it is not verified */
        email?: string;
        /** Merged one level deep into the visitor's attributes, null deletes a key; at most 50 keys and 16 KiB in all */
        attributes?: Record<string, unknown>;
        /** Title of a conversation that is made; display name, email or external id when left out */
        name?: string;
        /** Where the conversation comes from, such as api or Mobile App */
        source?: string;
      };
    };
    answer: ChatSession;
  };
  /** List conversations */
  listChatConversations: {
    input?: {
      query?: {
        limit?: number;
        /** `meta.nextCursor` of the page before */
        cursor?: string;
        /** Returns only items in this status */
        status?: 'open' | 'pending' | 'resolved' | 'closed';
        /** Compared exactly, including upper and lower case */
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
        /** Where the conversation comes from, such as api or Mobile App */
        source?: string;
        /** Visitor of the conversation; without it, the conversation has none */
        visitor?: {
          /** The same id is the same visitor. Without it, a new visitor is created each time */
          externalId?: string;
          /** Shown to agents */
          displayName?: string;
          /** Email address of the visitor; it is not verified */
          email?: string;
          /** Merged one level deep into the visitor's attributes, null deletes a key; at most 50 keys and 16 KiB in all */
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
        limit?: number;
        /** `meta.nextCursor` of the page before, or the `seq` of a message: only later ones */
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
        /** Your own id of this message: the same one again is the same message */
        clientId?: string;
      };
    };
    answer: ChatMessage;
  };
  /** List visitors, or look one up */
  listChatVisitors: {
    input?: {
      query?: {
        limit?: number;
        /** `meta.nextCursor` of the page before */
        cursor?: string;
        /** Your own stable id of this person */
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
        limit?: number;
        /** `meta.nextCursor` of the page before */
        cursor?: string;
        /** Returns only the conversations of this view of the inbox */
        view?: 'all' | 'mine' | 'unassigned' | 'open' | 'pending' | 'snoozed' | 'resolved' | 'closed' | 'unread' | 'assigned' | 'visitor';
        /** With the view `assigned`: whose */
        userId?: string;
        /** With the view `visitor`: whose */
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
        /** Where the conversation comes from, such as api or Mobile App */
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
  /** Change up to 100 conversations */
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
  /** Show a conversation */
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
  /** Change status, priority, name or snooze */
  updateInboxConversation: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the conversation */
        id: string;
      };
      body: {
        /** New status; unchanged when left out */
        status?: 'open' | 'pending' | 'resolved' | 'closed';
        /** New priority; unchanged when left out */
        priority?: 'low' | 'normal' | 'high' | 'urgent';
        /** Until then it is out of the views of open work; a message of the visitor ends that. Null ends it now */
        snoozedUntil?: string | null;
        /** Title for agents, 1 to 200 characters */
        name?: string;
      };
    };
    answer: InboxConversation;
  };
  /** Assign a conversation, or take it back */
  assignInboxConversation: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the conversation */
        id: string;
      };
      body: {
        /** A member of the workspace; null for nobody */
        userId: string | null;
        /** A member of the workspace; null for nobody */
        from?: string | null;
      };
    };
    answer: InboxConversation;
  };
  /** List what was written in a conversation, private notes included */
  listInboxMessages: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the conversation */
        id: string;
      };
      query?: {
        limit?: number;
        /** Returns only messages after this `seq` (in the inbox: position), oldest first */
        after?: string;
        /** Returns only messages before this `seq` (in the inbox: position) */
        before?: string;
      };
    };
    answer: InboxMessagePage;
  };
  /** Reply, or leave a private note */
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
        /** Your own id of this message: the same one again is the same message */
        clientId?: string;
        /** Files that were sent for this conversation and are in no message yet */
        attachmentIds?: string[];
        /** `seq` of the newest message that you saw. The reply is refused whenever a colleague has written a newer one */
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
        /** Up to this message */
        seq: number;
      };
    };
    answer: InboxConversation;
  };
  /** Say that you look at a conversation, and whether you type */
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
  /** Keep a draft of yours; an empty one is removed */
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
  /** End all links and visitor sessions of a conversation */
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
  /** List canned replies, or look for some */
  listCannedReplies: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      query?: {
        limit?: number;
        /** `meta.nextCursor` of the page before */
        cursor?: string;
        /** In shortcut or content */
        q?: string;
        /** Fills in the variables from this conversation */
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
        /** Unique in the workspace */
        shortcut: string;
        /** Text with variables such as `{{visitor.name|there}}`, 1 to 10,000 characters */
        content: string;
      };
    };
    answer: CannedReply;
  };
  /** Change a canned reply */
  updateCannedReply: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the canned reply */
        id: string;
      };
      body: {
        /** Unique in the workspace */
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
  /** List the members, with who is there */
  listChatAgents: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
    };
    answer: ChatAgents;
  };
  /** Say whether you take conversations */
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
  /** Send a file, for a message to come */
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
  /** Send a file, for a message to come */
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
  /** Search what was written, in any script */
  searchInbox: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      query: {
        limit?: number;
        /** `meta.nextCursor` of the page before */
        cursor?: string;
        /** The words to search for */
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
        limit?: number;
        /** `meta.nextCursor` of the page before */
        cursor?: string;
        /** `true` returns only blocked visitors, `false` only others */
        blocked?: 'true' | 'false';
      };
    };
    answer: InboxVisitorPage;
  };
  /** Show a visitor with their newest conversations */
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
  /** Change what is known of a visitor */
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
        /** Merged one level deep into the visitor's attributes, null deletes a key; at most 50 keys and 16 KiB in all */
        attributes?: Record<string, unknown>;
      };
    };
    answer: InboxVisitor;
  };
  /** Erase a visitor with conversations, messages and files */
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
  /** Block a visitor: nothing lets them read or write any more */
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
  /** Let a blocked visitor read and write again */
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
  /** Export what Live Chat keeps of a visitor */
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
  /** List how conversations were rated */
  listChatRatings: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      query?: {
        limit?: number;
        /** `meta.nextCursor` of the page before */
        cursor?: string;
      };
    };
    answer: InboxRatingPage;
  };
  /** Show the settings of Live Chat */
  getChatSettings: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
    };
    answer: ChatSettings;
  };
  /** Change the settings of Live Chat */
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
  /** Set your own picture */
  putMyPicture: {
    input?: Record<string, never>;
    answer: MemberPicture;
  };
  /** Delete your own picture */
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
        /** Id of the picture, from the path that other answers contain */
        id: string;
      };
    };
    answer: Bytes;
  };
  /** Show how the AI agent answers in chats, and what it did today */
  getChatAiSettings: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
    };
    answer: ChatAiSettings;
  };
  /** Change how the AI agent answers in chats */
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
  /** List what was suggested for a conversation */
  listAiSuggestions: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** The conversation */
        channelId: string;
      };
      query?: {
        limit?: number;
        /** `meta.nextCursor` of the page before */
        cursor?: string;
      };
    };
    answer: AiSuggestionPage;
  };
  /** Have a reply suggested */
  createAiSuggestion: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** The conversation */
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
        /** The conversation */
        channelId: string;
        /** Id of the suggestion */
        id: string;
      };
    };
    answer: AiSuggestion;
  };
  /** What the page of a site key looks like */
  getChatPage: {
    input: {
      query: {
        /** Site key of the workspace, `wgt_...` */
        siteKey: string;
      };
    };
    answer: ChatPageSettings;
  };
  /** Exchange a link token for a session token, or begin as nobody */
  openVisitorSession: {
    input: {
      body: {
        /** Site key of the workspace, `wgt_...` */
        siteKey: string;
        /** Of the link, or of `boot` */
        token?: string;
        /** Session token of the anonymous visitor who now signs in with `token` */
        anonymousSession?: string;
        /** What an anonymous visitor calls themselves */
        name?: string;
        /** Email address that an anonymous visitor gives; it is not verified */
        email?: string;
      };
    };
    answer: VisitorSession;
  };
  /** Renew a session token while the visitor is there */
  renewVisitorSession: {
    input?: Record<string, never>;
    answer: VisitorSession;
  };
  /** End a session */
  endVisitorSession: {
    input?: Record<string, never>;
    answer: VisitorSessionEnded;
  };
  /** Show the conversation of a session */
  getVisitorConversation: {
    input?: Record<string, never>;
    answer: VisitorConversation;
  };
  /** Begin a new conversation after the old one was closed */
  beginVisitorConversation: {
    input?: Record<string, never>;
    answer: VisitorSession;
  };
  /** List messages */
  listVisitorMessages: {
    input?: {
      query?: {
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
        /** Your own id of this message: the same one again is the same message */
        clientId: string;
        /** Files that were sent for this conversation and are in no message yet */
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
  /** Say whether the visitor types */
  showVisitorTyping: {
    input: {
      body: {
        /** Whether the visitor is typing now */
        typing: boolean;
      };
    };
    answer: VisitorTyping;
  };
  /** Ask for a person where the AI agent answers */
  askForPerson: {
    input?: {
      query?: {
        /** Language of the page: the message is written in it */
        locale?: 'en' | 'de' | 'fr' | 'es' | 'ar' | 'ja';
      };
    };
    answer: VisitorConversation;
  };
  /** Say how the conversation was */
  rateVisitorConversation: {
    input: {
      body: {
        /** 1 (worst) to 5 (best) */
        score: number;
        /** At most 2,000 characters */
        comment?: string;
      };
    };
    answer: ChatRating;
  };
  /** Follow a conversation as server-sent events, where WebSockets are blocked */
  streamVisitorEvents: {
    input?: {
      query?: {
        /** Returns only messages after this `seq` (in the inbox: position), oldest first */
        after?: string;
      };
    };
    answer: Bytes;
  };
  /** Follow the inbox as server-sent events, where WebSockets are blocked */
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
        limit?: number;
        /** `meta.nextCursor` of the page before */
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
        /** https, without user name and password */
        url: string;
        /** What is sent; `visitor.created` is accepted and not emitted yet */
        events: ('message.created' | 'conversation.created' | 'conversation.closed' | 'conversation.assigned' | 'csat.submitted' | 'visitor.created')[];
        /** Label for people, at most 500 characters */
        description?: string;
        /** Whether events are sent from the beginning */
        active?: boolean;
        /** That of the key when left out, and no other; `live` for a person who says nothing else */
        environment?: 'live' | 'test';
        /** Only false is possible: private notes are never sent */
        includePrivate?: false;
      };
    };
    answer: WebhookWithSecret;
  };
  /** Show a webhook */
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
  /** Change a webhook, or switch it on or off */
  updateWebhook: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the webhook */
        id: string;
      };
      body: {
        /** https, without user name and password */
        url?: string;
        /** What is sent; `visitor.created` is accepted and not emitted yet */
        events?: ('message.created' | 'conversation.created' | 'conversation.closed' | 'conversation.assigned' | 'csat.submitted' | 'visitor.created')[];
        /** Label for people, at most 500 characters */
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
  /** Give a webhook a new secret */
  rotateWebhookSecret: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the webhook */
        id: string;
      };
      body?: {
        /** Hours for which the old secret signs as well, 0 to 168 */
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
  /** Send deliveries of some time again */
  replayWebhook: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
        /** Id of the webhook */
        id: string;
      };
      body: {
        /** Only deliveries of this time or later */
        since: string;
        /** Only deliveries before this time; now when left out */
        until?: string;
        /** Only deliveries with this status; every status when left out */
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
        limit?: number;
        /** `meta.nextCursor` of the page before */
        cursor?: string;
        /** Returns only items in this status */
        status?: 'pending' | 'delivered' | 'failed' | 'exhausted' | 'cancelled';
        /** Returns only deliveries of this event */
        event?: 'message.created' | 'conversation.created' | 'conversation.closed' | 'conversation.assigned' | 'csat.submitted' | 'visitor.created';
      };
    };
    answer: WebhookDeliveryPage;
  };
  /** Show a delivery with its attempts */
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
  /** Send a delivery again, now */
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
  /** Ask a model, with what the workspace knows */
  createAiRun: {
    input: {
      body: CreateAiRun;
    };
    answer: AiRun;
  };
  /** List runs */
  listAiRuns: {
    input?: {
      query?: {
        limit?: number;
        /** `meta.nextCursor` of the page before */
        cursor?: string;
        /** Returns only items in this status */
        status?: 'succeeded' | 'failed';
        /** Returns only items of this environment */
        environment?: 'live' | 'test';
        /** A JSON object of texts: only runs whose metadata have all of them */
        metadata?: string;
      };
    };
    answer: AiRunPage;
  };
  /** Read a run */
  getAiRun: {
    input: {
      params: {
        /** Id of the run */
        id: string;
      };
    };
    answer: AiRun;
  };
  /** Cancel a run (planned) */
  cancelAiRun: {
    input: {
      params: {
        /** Id of the run */
        id: string;
      };
    };
    answer: AiRun;
  };
  /** Answer what somebody said on the phone, as text */
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
  /** The same as a stream of one event */
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
  /** Answer what somebody said on the phone, as text and speech */
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
        limit?: number;
        /** `meta.nextCursor` of the page before */
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
  /** Read a workflow */
  getAutomationWorkflow: {
    input: {
      params: {
        /** Id of the workflow */
        id: string;
      };
    };
    answer: Workflow;
  };
  /** Change a workflow */
  updateAutomationWorkflow: {
    input: {
      params: {
        /** Id of the workflow */
        id: string;
      };
      body: {
        /** Label for people, 1 to 200 characters */
        name?: string;
        /** Whether its trigger starts runs */
        active?: boolean;
        triggerJson?: TriggerInput;
        /** Replaces all steps; 1 to 200 */
        stepsJson?: StepInput[];
        /** Replaces the limits on its runs; null removes them */
        limits?: WorkflowLimitsInput | null;
        /** Replaces the schema of the payload; null accepts any */
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
        limit?: number;
        /** `meta.nextCursor` of the page before */
        cursor?: string;
      };
    };
    answer: WorkflowVersionSummaryPage;
  };
  /** Read a version of a workflow */
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
        /** `true` shows what the run would do, and runs nothing */
        dryRun?: 'true' | 'false';
      };
      body?: RunInput;
    };
    answer: StartedRun | DryRun;
  };
  /** The next fires of a schedule */
  previewAutomationSchedule: {
    input: {
      body: {
        schedule: ScheduleInput;
        /** Number of fires to answer, 1 to 100 */
        count?: number;
        /** Now when left out */
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
        limit?: number;
        /** `meta.nextCursor` of the page before */
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
  /** List sequences */
  listAutomationSequences: {
    input?: {
      query?: {
        limit?: number;
        /** `meta.nextCursor` of the page before */
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
  /** Show a sequence */
  getAutomationSequence: {
    input: {
      params: {
        /** Id of the sequence */
        id: string;
      };
    };
    answer: Sequence;
  };
  /** Change a sequence */
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
      /** Status of the run when the answer was written */
      status: 'queued' | 'running' | 'waiting_approval' | 'succeeded' | 'failed' | 'cancelled';
      /** Workflow that the sequence runs as */
      workflowId: string;
    };
  };
  /** List runs */
  listAutomationRuns: {
    input?: {
      query?: {
        limit?: number;
        /** `meta.nextCursor` of the page before */
        cursor?: string;
        /** Returns only items in this status */
        status?: 'queued' | 'running' | 'waiting_approval' | 'succeeded' | 'failed' | 'cancelled';
        /** Returns only items of this workflow */
        workflowId?: string;
        /** Queued at this time or later */
        from?: string;
        /** Queued before this time */
        to?: string;
      };
    };
    answer: RunSummaryPage;
  };
  /** Cancel several runs */
  cancelAutomationRuns: {
    input: {
      body: CancelRuns;
    };
    answer: BulkRunsAnswer;
  };
  /** Retry several failed or cancelled runs */
  retryAutomationRuns: {
    input: {
      body: RetryRuns;
    };
    answer: BulkRunsAnswer;
  };
  /** Read a run with its step results */
  getAutomationRun: {
    input: {
      params: {
        /** Id of the run */
        id: string;
      };
      query?: {
        /** Hold the answer until the run has ended or waits for an approval */
        waitSeconds?: number;
      };
    };
    answer: Run;
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
        /** Index of the step to begin with */
        fromStep?: number;
      };
    };
    answer: Run;
  };
  /** Run an ended run again from any step */
  replayAutomationRun: {
    input: {
      params: {
        /** Id of the run */
        id: string;
      };
      body?: {
        /** Index of the step to begin with, 0 to 199 */
        fromStep?: number;
      };
    };
    answer: Run;
  };
  /** Follow a run live */
  streamAutomationRun: {
    input: {
      params: {
        /** Id of the run */
        id: string;
      };
    };
    answer: Bytes;
  };
  /** List flows */
  listAutomationFlows: {
    input?: {
      query?: {
        limit?: number;
        /** `meta.nextCursor` of the page before */
        cursor?: string;
        /** Returns only items of this workflow */
        workflowId?: string;
      };
    };
    answer: FlowPage;
  };
  /** Read a flow with its runs */
  getAutomationFlow: {
    input: {
      params: {
        /** Id of the flow */
        id: string;
      };
    };
    answer: FlowWithRuns;
  };
  /** Start workflows from outside */
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
        /** The same key starts a workflow once; 1 to 255 characters */
        idempotencyKey?: string;
      };
    };
    answer: {
      /** Id of the run, or of the first of several */
      runId: string;
      /** Status of the run when the answer was written */
      status: 'queued' | 'running' | 'waiting_approval' | 'succeeded' | 'failed' | 'cancelled';
      /** When several workflows were started */
      runIds?: string[];
      /** True when the key was used before: the run is the earlier one */
      duplicate?: true;
    };
  };
  /** List approvals */
  listAutomationApprovals: {
    input?: {
      query?: {
        limit?: number;
        /** `meta.nextCursor` of the page before */
        cursor?: string;
        /** Returns only items in this status */
        status?: 'pending' | 'approved' | 'rejected' | 'expired';
        /** Returns only items of this run */
        runId?: string;
      };
    };
    answer: ApprovalPage;
  };
  /** Show an approval */
  getAutomationApproval: {
    input: {
      params: {
        /** Id of the approval */
        id: string;
      };
    };
    answer: Approval;
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
  /** Read the policy of the workspace */
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
        limit?: number;
        /** `meta.nextCursor` of the page before */
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
  /** Show an agent */
  getAutomationAgent: {
    input: {
      params: {
        /** Id of the agent */
        id: string;
      };
    };
    answer: Agent;
  };
  /** Change an agent */
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
        limit?: number;
        /** `meta.nextCursor` of the page before */
        cursor?: string;
      };
    };
    answer: ToolProfilePage;
  };
  /** Create or change a tool profile */
  putAutomationToolProfile: {
    input: {
      body: PutToolProfile;
    };
    answer: ToolProfile;
  };
  /** Show a tool profile */
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
  /** Read the models and their failover order */
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
  /** Read the knowledge of the AI */
  getKnowledge: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
    };
    answer: Knowledge;
  };
  /** Replace the knowledge of the AI */
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
  /** Try which passages a question finds */
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
        /** Passages at most, 1 to 20 */
        limit?: number;
      };
    };
    answer: KnowledgePassages;
  };
  /** List questions that the AI could not answer */
  listUnansweredQuestions: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      query?: {
        limit?: number;
        /** `meta.nextCursor` of the page before */
        cursor?: string;
      };
    };
    answer: UnansweredQuestionPage;
  };
  /** Dismiss a question without an answer */
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
  /** Show what models were used for, by day and model */
  getAiUsage: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      query?: {
        /** First day, UTC; 30 days up to `to` when left out */
        from?: string;
        /** Last day, UTC; today when left out */
        to?: string;
      };
    };
    answer: AiUsage;
  };
  /** Show the daily budget for models, and what is used of it */
  getAiBudget: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
    };
    answer: AiBudget;
  };
  /** Set the daily budget for models */
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
        limit?: number;
        /** `meta.nextCursor` of the page before */
        cursor?: string;
        /** Returns only sessions of this scope */
        scope?: 'dm' | 'group' | 'run' | 'channel' | 'workspace';
        /** Returns only items with this key */
        key?: string;
      };
    };
    answer: SessionPage;
  };
  /** Find or make a session */
  createAutomationSession: {
    input: {
      body: {
        /** What the session is about */
        scope: 'dm' | 'group' | 'run' | 'channel' | 'workspace';
        /** Unique together with `scope`, 1 to 200 characters */
        key: string;
        /** Label for people, at most 200 characters */
        title?: string;
      };
    };
    answer: Session;
  };
  /** Read a session with its transcript */
  getAutomationSession: {
    input: {
      params: {
        /** Id of the session */
        id: string;
      };
      query?: {
        limit?: number;
        /** `transcript.meta.nextCursor` of the page before */
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
        /** Who writes it, in the terms of language models */
        role: 'user' | 'assistant';
        /** Text of the message, 1 to 20,000 characters */
        content: string;
      };
    };
    answer: SessionMessage;
  };
  /** Read what is remembered */
  listAutomationMemory: {
    input?: {
      query?: {
        limit?: number;
        /** `meta.nextCursor` of the page before */
        cursor?: string;
        /** Returns only items with this key */
        key?: string;
        /** Returns only items of this session */
        sessionId?: string;
      };
    };
    answer: MemoryEntryPage;
  };
  /** Remember a value */
  putAutomationMemory: {
    input: {
      body: {
        /** Unique in the workspace, or in the session; 1 to 200 characters */
        key: string;
        /** Any JSON value, at most 65,536 characters as JSON */
        value: unknown;
        /** Session that the entry belongs to; the workspace when left out */
        sessionId?: string;
        /** Seconds until the entry expires, at most 31,622,400 (366 days); it never expires when left out */
        ttlSeconds?: number;
      };
    };
    answer: MemoryEntry;
  };
  /** List channels */
  listAutomationChannels: {
    input?: {
      query?: {
        limit?: number;
        /** `meta.nextCursor` of the page before */
        cursor?: string;
        /** Returns only channels of this provider */
        provider?: 'telegram' | 'slack' | 'whatsapp' | 'webhook' | 'email';
      };
    };
    answer: ChannelPage;
  };
  /** Create or change a channel */
  putAutomationChannel: {
    input: {
      body: PutChannel;
    };
    answer: Channel;
  };
  /** Show a channel */
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
  /** Receive a message of a channel */
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
  /** Answer the check that WhatsApp makes when its webhook is set up */
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
        /** Sent by WhatsApp when it verifies the address: the text to answer */
        "hub.challenge": string;
      };
    };
    answer: Bytes;
  };
  /** List what left the platform */
  listAutomationMessages: {
    input?: {
      query?: {
        limit?: number;
        /** `meta.nextCursor` of the page before */
        cursor?: string;
        /** Returns only items of this run */
        runId?: string;
        /** Returns only items of this workflow */
        workflowId?: string;
        /** Returns only messages sent through this channel */
        channel?: string;
        /** Returns only items in this status */
        status?: 'delivered' | 'simulated' | 'failed';
        /** At this time or later */
        from?: string;
        /** Before this time */
        to?: string;
      };
    };
    answer: OutgoingMessagePage;
  };
  /** List log lines of runs */
  listAutomationLogs: {
    input?: {
      query?: {
        limit?: number;
        /** `meta.nextCursor` of the page before */
        cursor?: string;
        /** Returns only items of this run */
        runId?: string;
        /** Returns only items of this workflow */
        workflowId?: string;
        /** Returns only lines of this level */
        level?: 'debug' | 'info' | 'warn' | 'error';
        /** At this time or later */
        from?: string;
        /** Before this time */
        to?: string;
      };
    };
    answer: LogLinePage;
  };
  /** Follow what leaves the platform live */
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
  /** Follow the log lines of runs live */
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
  /** Every skill of this hub */
  listAutomationSkillCatalog: {
    input?: Record<string, never>;
    answer: {
      /** All skills of this hub */
      skills: Skill[];
    };
  };
  /** Run one skill by itself */
  runAutomationSkill: {
    input: {
      params: {
        /** Id of the skill, as the skill catalog has it */
        skillId: string;
      };
      body?: {
        /** As the catalogue says */
        input?: Record<string, unknown>;
        /** For each try */
        timeoutSeconds?: number;
        /** As the skill has it when left out */
        retry?: {
          /** Tries in all */
          maxAttempts: number;
          /** Before the second try */
          backoffSeconds?: number;
          /** By which each further wait grows */
          factor?: number;
        };
      };
    };
    answer: {
      /** Id of the run that was started */
      runId: string;
      /** Status of the run when the answer was written */
      status: 'queued' | 'running' | 'waiting_approval' | 'succeeded' | 'failed' | 'cancelled';
      /** Workflow under which runs of this skill are listed */
      workflowId: string;
    };
  };
  /** List skill packs */
  listAutomationSkills: {
    input?: {
      query?: {
        limit?: number;
        /** `meta.nextCursor` of the page before */
        cursor?: string;
      };
    };
    answer: PackPage;
  };
  /** Install a pack */
  installAutomationSkill: {
    input: {
      body: {
        /** Id of the pack */
        packId: string;
        /** The newest when left out */
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
  /** Make a workflow from an installed pack */
  createAutomationSkillWorkflow: {
    input: {
      params: {
        /** Id of the pack */
        packId: string;
      };
      body?: {
        /** Label of the workflow; the name of the pack when left out */
        name?: string;
        /** Inputs of the pack by name, as its `inputsSchema` says */
        inputs?: Record<string, unknown>;
        /** Whether the trigger starts runs from the beginning */
        active?: boolean;
      };
    };
    answer: Workflow;
  };
  /** The schema of packs, and every skill that they may use */
  getAutomationSkillSdk: {
    input?: Record<string, never>;
    answer: {
      /** Version of the format of packs; 1 is the only one */
      schemaVersion: 1;
      /** JSON Schema of a pack */
      manifest: JsonObject;
      /** Skills of this hub */
      skills: {
        /** Stable id, which steps name as `skillId` */
        id: string;
        /** Title, for people */
        title: string;
        /** What it does and what it needs, for people */
        summary: string;
        /** What the workspace must be entitled to */
        requires: string[];
        /** What it does to the world, for people */
        effect: string;
        /** Whether a person approves each use, whatever the policy */
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
  /** Check a pack, or publish it in this workspace */
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
      /** What is wrong; empty for a valid manifest */
      errors: {
        /** Location in the manifest */
        path: string;
        /** What it must be */
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
        limit?: number;
        /** `meta.nextCursor` of the page before */
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
  /** How runs, nodes, deliveries and models did */
  getAutomationSlo: {
    input?: {
      query?: {
        /** The time before now that is measured */
        window?: '1h' | '24h' | '7d' | '30d';
      };
    };
    answer: Slo;
  };
  /** What this workspace has, what it lacks, and what to do next */
  getAutomationOnboarding: {
    input?: Record<string, never>;
    answer: Onboarding;
  };
  /** List companion nodes */
  listAutomationNodes: {
    input?: {
      query?: {
        limit?: number;
        /** `meta.nextCursor` of the page before */
        cursor?: string;
        /** Returns only items in this status */
        status?: 'pending' | 'online' | 'offline' | 'revoked';
      };
    };
    answer: NodePage;
  };
  /** Create a pairing code for a new node */
  createAutomationNode: {
    input?: {
      body?: {
        /** Unique among the nodes of the workspace; the name that the device reports when left out */
        name?: string;
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
  /** Claim a pairing code (the device calls this) */
  claimAutomationNode: {
    input: {
      body: {
        /** 8 characters, as ABCD-EFGH; case, spaces and hyphens do not matter */
        pairingCode: string;
        device: DeviceInfo;
      };
    };
    answer: {
      /** Id of the node */
      nodeId: string;
      /** Secret with which the device signs in, shown only in this answer */
      deviceSecret: string;
      hub: HubPace;
    };
  };
  /** Prove that this is the hub of a paired device (the device calls this) */
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
  /** Show a companion node */
  getAutomationNode: {
    input: {
      params: {
        /** Id of the node */
        id: string;
      };
    };
    answer: Node;
  };
  /** Rename a node, or change what it may do */
  updateAutomationNode: {
    input: {
      params: {
        /** Id of the node */
        id: string;
      };
      body: {
        /** Unique among the nodes of the workspace, 1 to 200 characters */
        name?: string;
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
  /** Leave the hub (the device calls this) */
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
        limit?: number;
        /** `meta.nextCursor` of the page before */
        cursor?: string;
        /** Returns only items in this status */
        status?: 'pending' | 'leased' | 'succeeded' | 'failed' | 'withdrawn';
        /** Such as node.ping */
        type?: string;
      };
    };
    answer: NodeCommandPage;
  };
  /** List what a node said of itself over time */
  listAutomationNodeFacts: {
    input: {
      params: {
        /** Id of the node */
        id: string;
      };
      query?: {
        limit?: number;
        /** `meta.nextCursor` of the page before */
        cursor?: string;
      };
    };
    answer: NodeFactsEntryPage;
  };
  /** Report facts and extend the leases of running commands (the device calls this) */
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
        /** The last entry of the device's own log; left out until the device has compared its log with `audit` of an answer */
        audit?: {
          /** Number of entries in the log of the device */
          count: number;
          /** SHA-256 of the last entry, as 64 hexadecimal digits */
          hash: string;
          /** The device found entries changed or missing */
          isBroken?: boolean;
        };
        /** Commands that the device holds: being worked on, or finished and their results not confirmed yet */
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
      /** What the hub knew of the device's log before this heartbeat */
      audit: AuditHead | null;
      /** Of those running: no longer wanted, end them */
      withdrawn: string[];
      /** Of `browserRuns`: runs that are over, close their pages */
      endedRuns: string[];
      hub: HubPace;
    };
  };
  /** Long poll for commands (the device calls this) */
  pollAutomationNodeCommands: {
    input: {
      params: {
        /** Id of the node */
        id: string;
      };
      query?: {
        /** Seconds */
        wait?: number;
        /** Commands at most; 0 only listens for withdrawals */
        max?: number;
        /** Ids of commands being worked on, and of those whose results are not confirmed yet, joined by commas */
        running?: string;
        /** True when `running` names all that the device holds, and it waits in no other poll: what else it was handed never arrived, and what of it only reads is handed out again at once */
        runningIsComplete?: 'true' | 'false';
      };
    };
    answer: {
      /** Commands for the device, at most `max` */
      commands: Command[];
      /** Ids among `running` that are no longer wanted */
      withdrawn: string[];
    };
  };
  /** Report the result of a command (the device calls this) */
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
      /** Status of the command now */
      status: string;
      /** False when the command had ended before: nothing changed */
      recorded: boolean;
    };
  };
  /** Ask how much of an artefact the hub has (the device calls this) */
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
  /** Upload a piece of an artefact (the device calls this) */
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
        /** Where the bytes of this request begin; at most what the hub has */
        offset: number;
        /** Size of the whole artefact */
        bytes: number;
        /** Of the whole artefact */
        sha256: string;
        /** Media type of the artifact, such as `image/png` */
        contentType: string;
      };
    };
    answer: UploadState;
  };
  /** Read an artefact: a screenshot, a recording, a file */
  getAutomationArtifact: {
    input: {
      params: {
        /** Id of the artifact */
        id: string;
      };
    };
    answer: Bytes;
  };
  /** Read an artefact that a command names (the device calls this) */
  readAutomationCommandFile: {
    input: {
      params: {
        /** Id of the node */
        id: string;
        /** Id of the command */
        commandId: string;
        /** Artefact that the input of the command names */
        artifactId: string;
      };
    };
    answer: Bytes;
  };
  /** List calls */
  listVoiceCalls: {
    input?: {
      query?: {
        limit?: number;
        /** `meta.nextCursor` of the page before */
        cursor?: string;
        /** Returns only calls in this direction */
        direction?: CallDirection;
        /** Returns only calls with this result */
        result?: CallResult;
        /** Calls that began then or later */
        from?: string;
        /** Calls that began before */
        to?: string;
      };
    };
    answer: CallRecordPage;
  };
  /** Read a call */
  getVoiceCall: {
    input: {
      params: {
        /** Id of the call */
        id: string;
      };
    };
    answer: CallRecord;
  };
  /** Read how much was called */
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
        limit?: number;
        /** `nextCursor` of the page before: the id of its last call */
        cursor?: string;
        /** Returns only calls in this direction */
        direction?: CallDirection;
        /** Returns only calls with this result */
        result?: CallResult;
        /** Calls that began then or later */
        from?: string;
        /** Calls that began before */
        to?: string;
      };
    };
    answer: CallList;
  };
  /** Read how much was called, in the dashboard */
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
        /** Calls that began then or later */
        from?: string;
        /** Calls that began before */
        to?: string;
      };
    };
    answer: CallRecord[];
  };
  /** Follow calls live */
  streamCalls: {
    input?: Record<string, never>;
    answer: Bytes;
  };
  /** List connections to carriers */
  listCallConnections: {
    input?: {
      query?: {
        limit?: number;
        /** `meta.nextCursor` of the page before */
        cursor?: string;
      };
    };
    answer: CallConnectionPage;
  };
  /** Connect a carrier */
  createCallConnection: {
    input: {
      body: CreateCallConnection;
    };
    answer: CallConnectionWithSecret;
  };
  /** Read a connection */
  getCallConnection: {
    input: {
      params: {
        /** Id of the connection */
        id: string;
      };
    };
    answer: CallConnection;
  };
  /** Change a connection */
  updateCallConnection: {
    input: {
      params: {
        /** Id of the connection */
        id: string;
      };
      body: {
        /** Label for people, 1 to 200 characters */
        name?: string;
        /** Twilio: the account's SID. With it, Twilio's own list is asked every night for calls that were missed */
        accountSid?: string | null;
        /** Twilio: where its API answers, https; `https://api.twilio.com` unless said. The auth token goes only where it was set for: with another address it must be given anew */
        apiBaseUrl?: string;
        /** Twilio: only together with another `apiBaseUrl`; else rotate it */
        authToken?: string;
      };
    };
    answer: CallConnection;
  };
  /** Delete a connection */
  deleteCallConnection: {
    input: {
      params: {
        /** Id of the connection */
        id: string;
      };
    };
    answer: Deleted;
  };
  /** Change what a connection is signed with */
  rotateCallConnection: {
    input: {
      params: {
        /** Id of the connection */
        id: string;
      };
      body?: {
        /** Twilio: the account's auth token, which signs what Twilio sends; write only */
        authToken?: string;
        /** Telnyx: the public key of the account, as base64; write only */
        publicKey?: string;
        /** Hours for which what the old secret signed is accepted as well, 0 to 168 */
        overlapHours?: number;
      };
    };
    answer: CallConnectionWithSecret;
  };
  /** Receive what happened to a call */
  receiveCarrierEvent: {
    input: {
      params: {
        /** The carrier */
        provider: 'twilio' | 'telnyx' | 'kamailio';
        /** Id of the connection */
        connectionId: string;
      };
      body: Record<string, unknown>;
    };
    answer: CarrierEventReceived;
  };
  /** Register at a SIP trunk of your own */
  registerOwnTrunk: {
    input: {
      body: RegisterOwnTrunk;
    };
    answer: OwnTrunk;
  };
  /** Show how the own SIP trunk is */
  getSipStatus: {
    input?: Record<string, never>;
    answer: OwnTrunk | null;
  };
  /** Remove the own SIP trunk */
  removeOwnTrunk: {
    input?: Record<string, never>;
    answer: Deleted;
  };
  /** Show how hosted SIP is */
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
        limit?: number;
        /** `meta.nextCursor` of the page before */
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
        /** `true` shows what the run would do, and runs nothing */
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
        limit?: number;
        /** `meta.nextCursor` of the page before */
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
        limit?: number;
        /** `meta.nextCursor` of the page before */
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
        limit?: number;
        /** `meta.nextCursor` of the page before */
        cursor?: string;
        /** Returns only items in this status */
        status?: 'queued' | 'running' | 'waiting_approval' | 'succeeded' | 'failed' | 'cancelled';
        /** Returns only items of this workflow */
        workflowId?: string;
        /** Queued at this time or later */
        from?: string;
        /** Queued before this time */
        to?: string;
      };
    };
    answer: RunSummaryPage;
  };
  /** List sessions */
  growthListSessions: {
    input?: {
      query?: {
        limit?: number;
        /** `meta.nextCursor` of the page before */
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
        limit?: number;
        /** `meta.nextCursor` of the page before */
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
        limit?: number;
        /** `meta.nextCursor` of the page before */
        cursor?: string;
        /** Returns only channels of this provider */
        provider?: 'telegram' | 'slack' | 'whatsapp' | 'webhook' | 'email';
      };
    };
    answer: ChannelPage;
  };
  /** Everything that a console shows, in one call */
  growthConsole: {
    input?: Record<string, never>;
    answer: {
      /** Runs of the workspace */
      runs: {
        /** The newest 10 runs */
        recent: RunSummary[];
        /** Number of runs that have not ended, by status */
        open: {
          /** Runs that wait to begin */
          queued: number;
          /** Runs in progress */
          running: number;
          /** Runs that wait for a decision */
          waitingApproval: number;
        };
      };
      /** The newest 10 sessions */
      sessions: Session[];
      /** AI agents, the newest first, 10 at most */
      agents: Agent[];
      /** Approvals of the workspace */
      approvals: {
        /** Number of approvals that wait for a decision */
        pending: number;
        /** The newest 10 pending approvals */
        recent: Approval[];
      };
      /** Companion nodes, the newest first, 100 at most */
      nodes: Node[];
      slo: Slo;
    };
  };
  /** Make new links for the named approvers of an approval */
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
  /** Change a workflow, sequence, agent, tool profile, channel, node or session */
  growthUpdateResource: {
    input: {
      params: {
        /** The kind of resource */
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
        /** The kind of resource */
        resource: 'workflows' | 'sequences' | 'agents' | 'tool-profiles' | 'channels' | 'nodes' | 'sessions';
        /** Id of the resource */
        id: string;
      };
    };
    answer: Deleted;
  };
  /** Who changed what */
  listAuditLog: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      query?: {
        limit?: number;
        /** `meta.nextCursor` of the page before */
        cursor?: string;
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
        limit?: number;
        /** `meta.nextCursor` of the page before */
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
  /** Follow live what changes in the workspace */
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
        limit?: number;
        /** `meta.nextCursor` of the page before */
        cursor?: string;
      };
    };
    answer: ContactListPage;
  };
  /** Create a contact list */
  createContactList: {
    input: {
      body: {
        /** Label for people, 1 to 200 characters */
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
        limit?: number;
        /** `meta.nextCursor` of the page before */
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
          /** Your own fields, which templates of campaigns can use; at most 50 keys and 16 KiB in all */
          attributes?: Record<string, unknown>;
        }[];
      };
    };
    answer: {
      /** Number of contacts that are new */
      added: number;
      /** Number of contacts that were known */
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
        limit?: number;
        /** `meta.nextCursor` of the page before */
        cursor?: string;
      };
    };
    answer: CampaignPage;
  };
  /** Create a campaign */
  createCampaign: {
    input: {
      body: {
        /** Label for people, 1 to 200 characters */
        name: string;
        /** List of the recipients */
        listId: string;
        /** Subject of the mail, 1 to 500 characters; may hold templates */
        subject: string;
        /** HTML body, at most 500,000 characters; null without one */
        html?: string | null;
        /** Plain text body, at most 100,000 characters; null without one */
        text?: string | null;
      };
    };
    answer: Campaign;
  };
  /** Change a campaign */
  updateCampaign: {
    input: {
      params: {
        /** Id of the campaign */
        id: string;
      };
      body: {
        /** Label for people, 1 to 200 characters */
        name?: string;
        /** List of the recipients */
        listId?: string;
        /** Subject of the mail, 1 to 500 characters; may hold templates */
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
  /** Make a workspace and its first admin */
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
  /** Sign in with the code of a one-time link */
  redeemSignInLink: {
    input: {
      body: {
        /** Code from the one-time link */
        code: string;
      };
    };
    answer: SignedIn;
  };
  /** Who is signed in */
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
  /** Change your own profile */
  updateMe: {
    input: {
      body: {
        /** What visitors and colleagues see instead of your email address; null removes it */
        displayName: string | null;
      };
    };
    answer: {
      user: MemberProfile;
    };
  };
  /** Sign out: the JWT stops working at once */
  logOut: {
    input?: Record<string, never>;
    answer: {
      /** Always true: the session ended */
      signedOut: true;
    };
  };
  /** Change your own password */
  changePassword: {
    input: {
      body: ChangePassword;
    };
    answer: {
      /** Always true: the new password is valid now */
      changed: true;
    };
  };
  /** Add a person to the workspace */
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
  /** List the people of the workspace */
  listMembers: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      query?: {
        limit?: number;
        /** `meta.nextCursor` of the page before */
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
  /** Take a person out of the workspace */
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
  /** What this key is and may do */
  readToken: {
    input?: Record<string, never>;
    answer: OwnToken;
  };
  /** Create an API token */
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
  /** List API tokens */
  listApiTokens: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      query?: {
        limit?: number;
        /** `meta.nextCursor` of the page before */
        cursor?: string;
      };
    };
    answer: ApiTokenPage;
  };
  /** Revoke an API token, at once and everywhere */
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
  /** What this workspace is entitled to */
  readEntitlements: {
    input?: Record<string, never>;
    answer: Entitlements;
  };
  /** Set what a workspace is entitled to (platform admin key) */
  putEntitlements: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
      body: {
        /** Live Chat: widget, inbox and its API */
        conversations_suite?: boolean;
        /** AI answers, suggestions and AI runs */
        ai_agent?: boolean;
        /** Workflows, companion nodes and everything else of Automations */
        automations?: boolean;
        /** Call records and SIP */
        business_calling?: boolean;
        /** Skills that send email */
        business_email?: boolean;
        /** Contact lists and campaigns */
        marketing?: boolean;
        /** Voice conversations with the AI agent; needs `ai_agent` as well */
        business_phone?: boolean;
      };
    };
    answer: Entitlements;
  };
  /** List the origins that may call this workspace from a browser */
  getAllowedOrigins: {
    input: {
      params: {
        /** Id of the workspace */
        tenantId: string;
      };
    };
    answer: AllowedOrigins;
  };
  /** Set the origins that may call this workspace from a browser */
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
  /** Set a new password with the token of a mailed link */
  resetPassword: {
    input: {
      body: ResetPassword;
    };
    answer: PasswordReset;
  };
  /** Whether this process lives */
  readHealth: {
    input?: Record<string, never>;
    answer: {
      /** Always `ok`: the process answers */
      status: 'ok';
      /** Version of the hub */
      version: string;
      /** Seconds since the process started */
      uptimeSeconds: number;
    };
  };
  /** Whether work can be accepted */
  readReadiness: {
    input?: Record<string, never>;
    answer: {
      /** `degraded` serves requests without some of its parts; `not_ready` should get none */
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
  listAutomationSequences: ['GET', '/v1/automations/sequences'],
  createAutomationSequence: ['POST', '/v1/automations/sequences'],
  getAutomationSequence: ['GET', '/v1/automations/sequences/{id}'],
  updateAutomationSequence: ['PATCH', '/v1/automations/sequences/{id}'],
  deleteAutomationSequence: ['DELETE', '/v1/automations/sequences/{id}'],
  runAutomationSequence: ['POST', '/v1/automations/sequences/{id}/run'],
  listAutomationRuns: ['GET', '/v1/automations/runs'],
  cancelAutomationRuns: ['POST', '/v1/automations/runs/cancel'],
  retryAutomationRuns: ['POST', '/v1/automations/runs/retry'],
  getAutomationRun: ['GET', '/v1/automations/runs/{id}'],
  cancelAutomationRun: ['POST', '/v1/automations/runs/{id}/cancel'],
  retryAutomationRun: ['POST', '/v1/automations/runs/{id}/retry'],
  replayAutomationRun: ['POST', '/v1/automations/runs/{id}/replay'],
  streamAutomationRun: ['GET', '/v1/automations/runs/{id}/events'],
  listAutomationFlows: ['GET', '/v1/automations/flows'],
  getAutomationFlow: ['GET', '/v1/automations/flows/{id}'],
  inboundAutomationHook: ['POST', '/v1/automations/hooks/inbound'],
  listAutomationApprovals: ['GET', '/v1/automations/approvals'],
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
  streamAutomationMessages: ['GET', '/v1/automations/messages/live'],
  streamAutomationLogs: ['GET', '/v1/automations/logs/live'],
  listAutomationSkillCatalog: ['GET', '/v1/automations/skills/catalog'],
  runAutomationSkill: ['POST', '/v1/automations/skills/{skillId}/run'],
  listAutomationSkills: ['GET', '/v1/automations/skills'],
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
  listAuditLog: ['GET', '/tenants/{tenantId}/audit'],
  listUsageEvents: ['GET', '/tenants/{tenantId}/usage-events'],
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
  readHealth: ['GET', '/healthz'],
  readReadiness: ['GET', '/readyz'],
};
