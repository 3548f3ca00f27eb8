/**
 * All error codes, with their HTTP status and whether repeating the same call can succeed.
 * Codes are stable. Messages are human-readable and can change.
 */
export const errorCodes = {
  // 400: the request is invalid
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
  // 401: the caller is not authenticated
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
  // 403: the caller is authenticated but not allowed
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
  session_changed: { status: 409, retryable: false },
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
  // 5xx: errors of the hub or of a third party that it called
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

/** One invalid field. `path` is its location in the request, such as `body.stepsJson[0].input.url`. */
export interface ErrorDetail {
  path: string;
  message: string;
}

/** Reason phrases of the statuses, for the `error` field of error bodies. */
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

/** The reason phrase of a status of this API. */
export function reasonPhrase(status: number): string {
  return reasonPhrases[status] ?? 'Error';
}

export interface AppErrorOptions {
  cause?: unknown;
  /** Details for the log that the caller must not see. */
  internal?: Record<string, unknown>;
  details?: ErrorDetail[];
  /** Seconds to wait before the next attempt; sent as `Retry-After`. */
  retryAfterSeconds?: number;
  /** For a 429, the limit that was reached; sent as `X-RateLimit-Limit`. */
  limit?: number;
  /** Id of the failed run, if the run is stored. */
  runId?: string;
  /** For `assignment_conflict`, the current assignee; null for none. */
  assignedUserId?: string | null;
  /** Additional response headers, such as `Allow`. */
  headers?: Record<string, string>;
}

/** The only error type across module boundaries: a stable code and a message that is safe to show to any caller. */
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

/**
 * The error for an object that is not in the workspace, including objects of other workspaces.
 * @param what such as `run`.
 */
export const notFound = (what: string, id: string) =>
  new AppError('not_found', `There is no ${what} ${id} in this workspace.`);

/** The error for an invalid field of a request body. @param path within the body, such as `steps[2].input`. */
export const invalidBody = (path: string, message: string) =>
  new AppError('validation_failed', `body.${path} ${message}.`, { details: [{ path: `body.${path}`, message }] });
