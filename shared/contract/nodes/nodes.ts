import { z } from 'zod';
import { deleted, id, idParams, listQuery, name, named, page, text, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';

const tag = 'Companion nodes';
const manage = { tag, callers: ['token', 'session'], permission: 'automations:manage', role: 'agent' } as const;

export const nodeStatuses = ['pending', 'online', 'offline', 'revoked'] as const;

/**
 * What a device says of itself. It is hostile input: show it as text only. What devices send may have fields that this version does
 * not know yet, here and in the bodies below; they are left out.
 */
export const deviceInfo = named(
  'DeviceInfo',
  z.object({
    name: text(1, 200),
    platform: text(1, 50).describe('As Node.js names it: linux, darwin, win32'),
    arch: text(1, 50),
    osVersion: text(0, 200),
    appVersion: text(1, 50),
    capabilities: z.array(text(1, 100)).max(100).describe('Command types that this device can carry out now'),
  }),
);

/** Facts of a heartbeat; every one may be missing. */
export const deviceFacts = named(
  'DeviceFacts',
  z.object({
    cpu: z
      .object({ model: text(0, 200), cores: z.int().min(0).max(4096), loadPercent: z.number().min(0).max(100) })
      .optional(),
    memory: z.object({ totalBytes: z.int().min(0), availableBytes: z.int().min(0) }).optional(),
    disks: z
      .array(z.object({ mount: text(0, 500), totalBytes: z.int().min(0), usedBytes: z.int().min(0) }))
      .max(50)
      .optional(),
    battery: z
      .object({ percent: z.number().min(0).max(100), charging: z.boolean() })
      .nullable()
      .optional(),
    displays: z
      .array(z.object({ index: z.int().min(0), name: text(0, 200), width: z.int().min(0), height: z.int().min(0) }))
      .max(16)
      .optional(),
    uptimeSeconds: z.number().min(0).optional(),
  }),
);

export const node = named(
  'Node',
  z.object({
    id,
    name: z.string(),
    status: z.enum(nodeStatuses),
    allowSystem: z.boolean(),
    allowBrowser: z.boolean(),
    device: deviceInfo.nullable(),
    facts: deviceFacts.nullable(),
    paused: z.boolean().describe('Switched on by the owner of the device: it refuses every command'),
    pairedAt: timestamp.nullable(),
    lastSeenAt: timestamp.nullable(),
    createdAt: timestamp,
    updatedAt: timestamp,
  }),
);

/** What a node said of itself from some time on; shares that change all the time are noted in steps of about ten points. */
export const nodeFacts = named(
  'NodeFacts',
  z.object({
    device: deviceInfo.nullable(),
    paused: z.boolean(),
    allowSystem: z.boolean().describe('As the workspace had it then'),
    allowBrowser: z.boolean().describe('As the workspace had it then'),
    cpu: z.object({ model: z.string(), cores: z.int() }).nullable(),
    memory: z.object({ totalBytes: z.int() }).nullable(),
    disks: z.array(z.object({ mount: z.string(), totalBytes: z.int(), usedPercent: z.number() })),
    battery: z.object({ percent: z.number(), charging: z.boolean() }).nullable(),
    displays: z.array(z.object({ index: z.int(), name: z.string(), width: z.int(), height: z.int() })),
  }),
);

export const nodeCommandStatuses = ['pending', 'leased', 'succeeded', 'failed', 'withdrawn'] as const;

/** A command as its workspace sees it, without what it was given and what it answered: those may be large, or private. */
const nodeCommand = named(
  'NodeCommand',
  z.object({
    id,
    type: z.string(),
    status: z.enum(nodeCommandStatuses),
    runId: id,
    stepIndex: z.int(),
    attempt: z.int(),
    createdAt: timestamp,
    handedOutAt: timestamp.nullable(),
    finishedAt: timestamp.nullable(),
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
  }),
);

/** Pace that the hub asks of a device, in seconds. */
export const hubPace = named('HubPace', z.object({ pollSeconds: z.int(), heartbeatSeconds: z.int() }));

/** An approval that travels with a command that needs one; the device checks `requestHash` against what it would run. */
export const commandApproval = named(
  'CommandApproval',
  z.object({
    id,
    requestHash: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .meta({
        description: 'SHA-256 of the canonical JSON (RFC 8785) of node, argv, cwd, env, stdin and timeoutMs',
        example: 'ab'.repeat(32),
      }),
    approvedBy: z.string(),
    approvedAt: timestamp,
  }),
);
export type CommandApproval = z.output<typeof commandApproval>;

export const polledCommand = named(
  'Command',
  z.object({
    id,
    type: z.string(),
    input: z.record(z.string(), z.unknown()),
    expiresAt: timestamp.describe('After this the hub no longer wants the answer'),
    leaseSeconds: z.int(),
    approval: commandApproval.optional(),
  }),
);

/** Codes of a command that failed on, or on the way to, a device. A device may use others of its own. */
const commandErrorCodes = [
  'denied_by_device',
  'denied_by_policy',
  'outside_shared_folders',
  'tool_missing',
  'permission_needed',
  'timeout',
  'paused',
  'approval_mismatch',
  'invalid_input',
  'not_found',
  'target_not_found',
  'too_large',
  'navigation_failed',
  'evaluation_failed',
  'withdrawn',
  'outcome_unknown',
  'unknown_command',
  'failed',
  'node_offline',
  'node_revoked',
  'invalid_reply',
] as const;

/** Name of an artefact, unique within its result. */
export const artifactName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/, 'must be a plain file name');
/** Content type of an artefact, without parameters. */
export const artifactContentType = z
  .string()
  .regex(/^[a-z0-9.+-]{1,60}\/[a-z0-9.+-]{1,100}$/, 'must be a content type such as image/png');
/** Artefacts of one command, at most. */
export const maxArtifacts = 16;
/** Greatest artefact, in bytes. */
export const maxArtifactBytes = 256 * 1024 * 1024;

/** The `result` of a command: as the JSON body, or as the field `result` of a multipart body whose files are the artefacts. */
export const commandResult = named(
  'CommandResult',
  z.object({
    status: z.enum(['succeeded', 'failed']),
    output: z.unknown().optional().describe('As the command promises'),
    error: z
      .object({
        code: z
          .string()
          .regex(/^[a-z][a-z0-9_]{0,59}$/, 'must be snake_case')
          .describe(`Such as ${commandErrorCodes.join(', ')}`),
        message: text(0, 4000),
      })
      .optional(),
    artifacts: z
      .array(z.object({ name: artifactName, contentType: artifactContentType, base64: z.base64() }))
      .max(maxArtifacts)
      .optional(),
    uploads: z
      .array(artifactName)
      .max(maxArtifacts)
      .optional()
      .describe('Names of artefacts that were uploaded before the result'),
  }),
);
export type CommandResult = z.output<typeof commandResult>;

/** What a device says of an artefact that it uploads in pieces; the same with every piece. */
const uploadQuery = z.strictObject({
  offset: z.coerce
    .number()
    .int()
    .min(0, 'must be from 0 to what the hub has')
    .describe('Where the bytes of this request begin; at most what the hub has'),
  bytes: z.coerce
    .number()
    .int()
    .min(1, 'must be from 1 to 268435456')
    .max(maxArtifactBytes, 'must be from 1 to 268435456')
    .describe('Size of the whole artefact'),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits')
    .describe('Of the whole artefact'),
  contentType: artifactContentType,
});
export type UploadFacts = z.output<typeof uploadQuery>;

const uploadState = named(
  'UploadState',
  z.object({
    name: z.string(),
    received: z.int().describe('Bytes that the hub has: where the next piece begins'),
    bytes: z.int().nullable().describe('Size of the whole artefact; null before the first piece'),
    complete: z
      .boolean()
      .describe('All bytes are there and have the checksum; a result may name the artefact in `uploads`'),
  }),
);

const bodyLimitBytes = 12 * 1024 * 1024;
const uploadParams = z.strictObject({ id, commandId: id, name: artifactName });

export const nodes = defineResource({
  listAutomationNodes: {
    ...manage,
    method: 'GET',
    path: '/v1/automations/nodes',
    summary: 'List companion nodes',
    query: listQuery.extend({ status: z.enum(nodeStatuses).optional() }),
    response: page(node),
  },
  createAutomationNode: {
    ...manage,
    role: 'admin',
    method: 'POST',
    path: '/v1/automations/nodes',
    summary: 'Create a pairing code for a new node',
    description:
      'The code is shown once, works once and lasts 10 minutes. Enter it on the device: `outrigger-companion pair CODE --hub URL`.',
    body: z.strictObject({
      name: name.optional(),
      allowSystem: z.boolean().default(false),
      allowBrowser: z.boolean().default(false),
    }),
    bodyOptional: true,
    response: z.object({ nodeId: id, pairingCode: z.string(), pairingUri: z.string(), expiresAt: timestamp }),
    errors: ['workspace_limit_reached'],
  },
  claimAutomationNode: {
    tag,
    callers: ['pairing'],
    method: 'POST',
    path: '/v1/automations/nodes/claim',
    summary: 'Claim a pairing code (the device calls this)',
    description:
      'Answers the device secret, once. 10 wrong codes from one address within 10 minutes lock it out for that time.',
    body: z.object({
      pairingCode: z.string().max(50).describe('8 characters, as ABCD-EFGH; case, spaces and hyphens do not matter'),
      device: deviceInfo,
    }),
    response: z.object({ nodeId: id, deviceSecret: z.string(), hub: hubPace }),
    errors: ['pairing_code_invalid', 'rate_limited'],
    ipLimit: 'claim',
  },
  updateAutomationNode: {
    ...manage,
    role: 'admin',
    method: 'PATCH',
    path: '/v1/automations/nodes/{id}',
    summary: 'Rename a node, or change what it may do',
    params: idParams,
    body: z
      .strictObject({
        name: name.optional(),
        allowSystem: z.boolean().optional(),
        allowBrowser: z.boolean().optional(),
      })
      .refine(
        (body) => Object.values(body).some((value) => value !== undefined),
        'give at least one of name, allowSystem, allowBrowser',
      )
      .meta({ example: { name: 'front desk', allowBrowser: true } }),
    response: node,
  },
  deleteAutomationNode: {
    ...manage,
    role: 'admin',
    method: 'DELETE',
    path: '/v1/automations/nodes/{id}',
    summary: 'Revoke a node',
    description: 'Its secret stops working at once, its polls end, its open commands fail with `node_revoked`.',
    params: idParams,
    response: deleted,
  },
  listAutomationNodeCommands: {
    ...manage,
    method: 'GET',
    path: '/v1/automations/nodes/{id}/command-history',
    summary: 'List the commands of a node',
    description:
      'Newest first, and of a revoked node as well, without their inputs and outputs; those are in the steps of their runs.',
    params: idParams,
    query: listQuery.extend({
      status: z.enum(nodeCommandStatuses, `must be one of ${nodeCommandStatuses.join(', ')}`).optional(),
      type: text(1, 100).optional().describe('Such as node.ping'),
    }),
    response: page(nodeCommand),
  },
  listAutomationNodeFacts: {
    ...manage,
    method: 'GET',
    path: '/v1/automations/nodes/{id}/facts',
    summary: 'List what a node said of itself over time',
    description:
      'Newest first, and of a revoked node as well: an entry whenever something changed, the newest 200 of each node. Use of disks and the charge of a battery count as changed from ten points on.',
    params: idParams,
    query: listQuery,
    response: page(named('NodeFactsEntry', z.object({ id, at: timestamp, facts: nodeFacts }))),
  },
  heartbeatAutomationNode: {
    tag,
    callers: ['device'],
    method: 'POST',
    path: '/v1/automations/nodes/{id}/heartbeat',
    summary: 'Report facts and extend the leases of running commands (the device calls this)',
    description: 'A device that sends none for three times the pace that the hub asks for counts as offline.',
    params: idParams,
    body: z.object({
      facts: deviceFacts.optional(),
      device: deviceInfo.optional(),
      paused: z.boolean().default(false),
      running: z
        .array(id)
        .max(64)
        .default([])
        .describe('Commands that the device holds: being worked on, or finished and their results not confirmed yet'),
    }),
    response: z.object({
      ok: z.literal(true),
      allowSystem: z.boolean(),
      allowBrowser: z.boolean(),
      withdrawn: z.array(id).describe('Of those running: no longer wanted, end them'),
      hub: hubPace,
    }),
  },
  pollAutomationNodeCommands: {
    tag,
    callers: ['device'],
    method: 'GET',
    path: '/v1/automations/nodes/{id}/commands',
    summary: 'Long poll for commands (the device calls this)',
    description:
      'Holds the request up to `wait` seconds until there is a command. Each command is handed out under a lease; a heartbeat that names it extends the lease. `running` names commands that the device holds; those no longer wanted come back in `withdrawn`, at once. A device that waits in more than 8 polls loses the oldest, which ends empty.',
    params: idParams,
    query: z.object({
      wait: z.coerce
        .number()
        .int()
        .min(0, 'must be from 0 to 30')
        .max(30, 'must be from 0 to 30')
        .default(0)
        .describe('Seconds'),
      max: z.coerce
        .number()
        .int()
        .min(0, 'must be from 0 to 16')
        .max(16, 'must be from 0 to 16')
        .default(1)
        .describe('Commands at most; 0 only listens for withdrawals'),
      running: z
        .string()
        .max(64 * 37)
        .default('')
        .transform((list) => (list === '' ? [] : list.split(',')))
        .pipe(z.array(id).max(64))
        .describe(
          'Ids of commands being worked on, and of those whose results are not confirmed yet, joined by commas',
        ),
      runningIsComplete: z
        .enum(['true', 'false'])
        .default('false')
        .transform((value) => value === 'true')
        .describe(
          'True when `running` names all that the device holds, and it waits in no other poll: what else it was handed never arrived, and what of it only reads is handed out again at once',
        ),
    }),
    response: z.object({ commands: z.array(polledCommand), withdrawn: z.array(id) }),
    holdSeconds: 30,
  },
  completeAutomationNodeCommand: {
    tag,
    callers: ['device'],
    method: 'POST',
    path: '/v1/automations/nodes/{id}/commands/{commandId}/result',
    summary: 'Report the result of a command (the device calls this)',
    description:
      'JSON with artefacts in base64 (12 MiB at most), or `multipart/form-data` with the JSON in the field `result` and one file per artefact. Artefacts that were uploaded in pieces before are named in `uploads`. Those of a failed result are dropped. The same result again is 200 and changes nothing.',
    params: z.strictObject({ id, commandId: id }),
    body: commandResult,
    bodyLimitBytes,
    multipart: true,
    response: z.object({
      id,
      status: z.string(),
      recorded: z.boolean().describe('False when the command had ended before: nothing changed'),
    }),
    errors: ['storage_full', 'checksum_mismatch'],
  },
  readAutomationNodeUpload: {
    tag,
    callers: ['device'],
    method: 'GET',
    path: '/v1/automations/nodes/{id}/commands/{commandId}/artifacts/{name}',
    summary: 'Ask how much of an artefact the hub has (the device calls this)',
    params: uploadParams,
    response: uploadState,
    errors: ['command_ended'],
  },
  uploadAutomationNodeArtifact: {
    tag,
    callers: ['device'],
    method: 'PUT',
    path: '/v1/automations/nodes/{id}/commands/{commandId}/artifacts/{name}',
    summary: 'Upload a piece of an artefact (the device calls this)',
    description:
      'For artefacts that are too large for the result, or whose way is slow. The body is the bytes from `offset` on, as many as the device likes; what arrived before a connection was cut is kept, and the device goes on from `received`. Without a body it reserves the room and answers how much there is. A piece with another size, checksum or content type than those before starts anew. With the last byte the checksum is compared; 422 `checksum_mismatch` means that all of it is to be sent again. An upload that nobody went on with for a day, or whose command is over, is dropped.',
    params: uploadParams,
    query: uploadQuery,
    upload: true,
    response: uploadState,
    errors: [
      'command_ended',
      'payload_too_large',
      'upload_offset_invalid',
      'upload_limit_reached',
      'checksum_mismatch',
      'storage_full',
    ],
  },
});

export const artifacts = defineResource({
  getAutomationArtifact: {
    ...manage,
    tag: 'Artefacts',
    method: 'GET',
    path: '/v1/automations/artifacts/{id}',
    summary: 'Read an artefact: a screenshot, a recording, a file',
    description: 'Understands `Range: bytes=`.',
    params: idParams,
    response: z.unknown(),
    binaryResponse: 'application/octet-stream',
    errors: ['range_not_satisfiable'],
  },
});

/** Input of a node skill beyond the command's own. */
export const nodeSkillInput = {
  nodeId: z.uuid('must be the id of a paired node'),
  waitMs: z
    .int()
    .min(0)
    .max(300_000)
    .default(30_000)
    .describe('How long to wait for a node that is offline, in milliseconds'),
};
