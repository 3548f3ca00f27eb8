/**
 * Every error code that a program may rely on, with its HTTP status and whether the same call may succeed later.
 * The code is stable; the message is for people and may change.
 */
export const errorCodes = {
  // 400: the request can't be carried out as it is written
  validation_failed: { status: 400, retryable: false },
  invalid_json: { status: 400, retryable: false },
  invalid_cursor: { status: 400, retryable: false },
  workflow_inactive: { status: 400, retryable: false },
  workflow_invalid: { status: 400, retryable: false },
  pack_invalid: { status: 400, retryable: false },
  channel_inactive: { status: 400, retryable: false },
  egress_refused: { status: 400, retryable: false },
  idempotency_key_invalid: { status: 400, retryable: false },
  voice_unknown: { status: 400, retryable: false },
  // 401: who is calling?
  unauthenticated: { status: 401, retryable: false },
  invalid_token: { status: 401, retryable: false },
  token_expired: { status: 401, retryable: false },
  token_revoked: { status: 401, retryable: false },
  invalid_credentials: { status: 401, retryable: false },
  webhook_token_mismatch: { status: 401, retryable: false },
  channel_secret_invalid: { status: 401, retryable: false },
  pairing_code_invalid: { status: 401, retryable: false },
  device_secret_invalid: { status: 401, retryable: false },
  chat_token_invalid: { status: 401, retryable: false },
  chat_token_expired: { status: 401, retryable: false },
  // 403: known, but not allowed
  missing_permission: { status: 403, retryable: false },
  wrong_product: { status: 403, retryable: false },
  product_not_entitled: { status: 403, retryable: false },
  ip_not_allowed: { status: 403, retryable: false },
  sign_up_closed: { status: 403, retryable: false },
  role_required: { status: 403, retryable: false },
  test_key_not_allowed: { status: 403, retryable: false },
  origin_not_allowed: { status: 403, retryable: false },
  approver_required: { status: 403, retryable: false },
  approval_needs_person: { status: 403, retryable: false },
  node_flag_off: { status: 403, retryable: false },
  visitor_blocked: { status: 403, retryable: false },
  carrier_signature_invalid: { status: 403, retryable: false },
  // 404, 405, 408, 409, 412, 413, 415, 416, 422, 426, 429
  not_found: { status: 404, retryable: false },
  method_not_allowed: { status: 405, retryable: false },
  request_timeout: { status: 408, retryable: true },
  conflict: { status: 409, retryable: false },
  version_conflict: { status: 409, retryable: false },
  conversation_closed: { status: 409, retryable: false },
  newer_reply: { status: 409, retryable: false },
  assignment_conflict: { status: 409, retryable: false },
  rating_not_offered: { status: 409, retryable: false },
  email_taken: { status: 409, retryable: false },
  workspace_name_taken: { status: 409, retryable: false },
  command_ended: { status: 409, retryable: false },
  upload_offset_invalid: { status: 409, retryable: true },
  storage_full: { status: 409, retryable: false },
  idempotency_in_progress: { status: 409, retryable: true },
  run_not_cancellable: { status: 409, retryable: false },
  run_not_retryable: { status: 409, retryable: false },
  workflow_limit_reached: { status: 409, retryable: true },
  node_name_taken: { status: 409, retryable: false },
  workspace_limit_reached: { status: 409, retryable: false },
  pack_not_installed: { status: 409, retryable: false },
  memory_full: { status: 409, retryable: false },
  approval_already_decided: { status: 409, retryable: false },
  precondition_failed: { status: 412, retryable: false },
  payload_too_large: { status: 413, retryable: false },
  unsupported_media_type: { status: 415, retryable: false },
  range_not_satisfiable: { status: 416, retryable: false },
  idempotency_key_reused: { status: 422, retryable: false },
  checksum_mismatch: { status: 422, retryable: true },
  nothing_heard: { status: 422, retryable: false },
  upgrade_required: { status: 426, retryable: false },
  queued_runs_limit_reached: { status: 429, retryable: true },
  upload_limit_reached: { status: 429, retryable: true },
  rate_limited: { status: 429, retryable: true },
  ai_budget_used_up: { status: 429, retryable: true },
  // 5xx: ours, or whoever we called
  internal: { status: 500, retryable: true },
  not_available: { status: 501, retryable: false },
  skill_failed: { status: 502, retryable: true },
  delivery_refused: { status: 502, retryable: false },
  suggestion_empty: { status: 502, retryable: true },
  outcome_unknown: { status: 502, retryable: false },
  ai_binding_not_configured: { status: 503, retryable: false },
  inference_failed: { status: 503, retryable: true },
  speech_failed: { status: 503, retryable: true },
  unavailable: { status: 503, retryable: true },
} as const satisfies Record<string, { status: number; retryable: boolean }>;

export type ErrorCode = keyof typeof errorCodes;

/** One bad field: `path` is its place in the request, such as `body.stepsJson[0].input.url`. */
export interface ErrorDetail {
  path: string;
  message: string;
}

/** Reason phrases of the statuses above, as the `error` field of the body spells them. */
const reasonPhrases: Record<number, string> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  412: 'Precondition Failed',
  413: 'Payload Too Large',
  415: 'Unsupported Media Type',
  416: 'Range Not Satisfiable',
  422: 'Unprocessable Entity',
  426: 'Upgrade Required',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
};

/** The reason phrase of a status that this API answers. */
export function reasonPhrase(status: number): string {
  return reasonPhrases[status] ?? 'Error';
}

export interface AppErrorOptions {
  cause?: unknown;
  /** What the log should know and the caller must not. */
  internal?: Record<string, unknown>;
  details?: ErrorDetail[];
  /** Seconds until a new try makes sense; becomes `Retry-After`. */
  retryAfterSeconds?: number;
  /** The limit that was reached, for a 429; becomes `X-RateLimit-Limit`. */
  limit?: number;
  /** The run that failed with this, where it is kept. */
  runId?: string;
  /** Who has the conversation now, for `assignment_conflict`; null for no assignee. */
  assignedUserId?: string | null;
  /** Response headers that belong to this error, such as `Allow`. */
  headers?: Record<string, string>;
}

/** The one error that crosses module borders: a stable code and a message that a stranger may read. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly internal: Record<string, unknown> | undefined;
  readonly details: ErrorDetail[] | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly limit: number | undefined;
  readonly runId: string | undefined;
  readonly assignedUserId: string | null | undefined;
  readonly headers: Record<string, string> | undefined;

  constructor(code: ErrorCode, publicMessage: string, options: AppErrorOptions = {}) {
    super(publicMessage, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.internal = options.internal;
    this.details = options.details;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.limit = options.limit;
    this.runId = options.runId;
    this.assignedUserId = options.assignedUserId;
    this.headers = options.headers;
  }

  get status(): number {
    return errorCodes[this.code].status;
  }
}

/** What a workspace does not have; that of another one is missing just the same. @param what such as `run`. */
export const notFound = (what: string, id: string) =>
  new AppError('not_found', `There is no ${what} ${id} in this workspace.`);

/** What a request's body says that can't be. @param path within the body, such as `steps[2].input`. */
export const invalidBody = (path: string, message: string) =>
  new AppError('validation_failed', `body.${path} ${message}.`, { details: [{ path: `body.${path}`, message }] });
