import { z } from 'zod';
import { deleted, id, idParams, listQuery, name, named, page, text, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';
import { artifactName, commandResult, uploadQuery, uploadState } from './command-result.ts';
import {
  auditHead,
  nodeStatuses,
  deviceInfo,
  deviceFacts,
  node,
  nodeFacts,
  nodeTag,
  nodeTags,
  nodeCommandStatuses,
  nodeCommand,
  hubPace,
  polledCommand,
} from './device.ts';
const tag = 'Companion nodes';
const manage = { tag, callers: ['token', 'session'], permission: 'automations:manage', role: 'agent' } as const;

const bodyLimitBytes = 12 * 1024 * 1024;
const uploadParams = z.strictObject({ id, commandId: id, name: artifactName });

export const nodes = defineResource({
  listAutomationNodes: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/nodes',
    summary: 'List companion nodes',
    description: 'Revoked nodes are listed only with `status=revoked`.',
    query: listQuery
      .extend({
        status: z.enum(nodeStatuses).optional(),
        tag: nodeTag.optional().describe('Only nodes with this tag; not together with `status=revoked`'),
      })
      .refine(({ status, tag: wanted }) => wanted === undefined || status !== 'revoked', {
        path: ['tag'],
        message: 'must not be given together with status=revoked',
      }),
    response: page(node),
  },
  createAutomationNode: {
    ...manage,
    role: 'admin',
    method: 'POST',
    path: '/v1/automations/nodes',
    summary: 'Create a pairing code for a new node',
    description:
      'The code is returned once, works once and expires after 10 minutes. Enter it on the device: `outrigger-companion pair CODE --hub URL`.',
    body: z.strictObject({
      name: name
        .optional()
        .describe('Name, unique among the nodes of the workspace; the name that the device reports when omitted'),
      tags: nodeTags.default([]),
      allowSystem: z.boolean().default(false).describe('Whether the workspace allows `system.*` commands on the node'),
      allowBrowser: z
        .boolean()
        .default(false)
        .describe('Whether the workspace allows `browser.*` commands on the node'),
    }),
    bodyOptional: true,
    response: z.object({
      nodeId: id.describe('Id of the new node'),
      pairingCode: z.string().describe('Code to enter on the device, as `ABCD-EFGH`; valid once, until `expiresAt`'),
      pairingUri: z.string().describe('URI with the code, which the companion app opens'),
      expiresAt: timestamp,
    }),
    errors: ['workspace_limit_reached', 'node_name_taken', 'test_key_not_allowed'],
  },
  claimAutomationNode: {
    tag,
    callers: ['pairing'],
    method: 'POST',
    path: '/v1/automations/nodes/claim',
    summary: 'Claim a pairing code (called by the device)',
    description:
      'Returns the device secret once. After 10 wrong codes within 10 minutes, an address is blocked for the rest of that time.',
    body: z.object({
      pairingCode: z
        .string()
        .max(50)
        .describe('Pairing code of 8 characters, such as `ABCD-EFGH`; case, spaces and hyphens are ignored'),
      device: deviceInfo,
    }),
    response: z.object({
      nodeId: id.describe('Id of the node'),
      deviceSecret: z.string().describe('Secret with which the device authenticates, returned only once'),
      hub: hubPace,
    }),
    errors: ['pairing_code_invalid', 'rate_limited'],
    ipLimit: 'claim',
  },
  proveAutomationHub: {
    tag,
    callers: ['pairing'],
    method: 'POST',
    path: '/v1/automations/nodes/{id}/hub-proof',
    summary: 'Prove the identity of the hub (called by the device)',
    description:
      'Before a device sends its secret to a new address of its hub, it requests this proof there. The proof is HMAC-SHA256 in hex, keyed with the SHA-256 of the device secret, over the lines `outrigger.hub-proof.v1`, node id, hub address and nonce. The hub proves only its own address (`PUBLIC_URL`), so that another server cannot relay the request.',
    params: idParams,
    body: z.object({
      hub: text(1, 2_000)
        .describe('Address at which the device reaches the hub')
        .meta({ example: 'https://hub.example.org' }),
      nonce: z
        .string()
        .regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits')
        .meta({ example: '0123456789abcdef'.repeat(4) })
        .describe('Random number of the device, as 64 hexadecimal digits'),
    }),
    response: z.object({
      proof: z
        .string()
        .meta({ example: 'fedcba9876543210'.repeat(4) })
        .describe('HMAC-SHA256 over the request, keyed with the SHA-256 of the device secret; 64 hexadecimal digits'),
    }),
    errors: ['conflict'],
    ipLimit: 'claim',
  },
  getAutomationNode: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/nodes/{id}',
    summary: 'Get a companion node',
    description: 'Also returns revoked nodes, with the status `revoked`.',
    params: idParams,
    response: node,
  },
  updateAutomationNode: {
    ...manage,
    liveOnly: true,
    role: 'admin',
    method: 'PATCH',
    path: '/v1/automations/nodes/{id}',
    summary: 'Update a node',
    description:
      'Changes the name, the tags or the allowed commands. `tags` replaces all tags. After a rename, workflows that select the node by name (`node`) fail until they use the new name; workflows that use `nodeId` are not affected.',
    params: idParams,
    body: z
      .strictObject({
        name: name.optional().describe('Name, unique among the nodes of the workspace, 1 to 200 characters'),
        tags: nodeTags.optional(),
        allowSystem: z.boolean().optional().describe('Whether the workspace allows `system.*` commands on the node'),
        allowBrowser: z.boolean().optional().describe('Whether the workspace allows `browser.*` commands on the node'),
      })
      .refine(
        (body) => Object.values(body).some((value) => value !== undefined),
        'must have at least one of name, tags, allowSystem, allowBrowser',
      )
      .meta({ example: { name: 'front desk', allowBrowser: true } }),
    response: node,
    errors: ['node_name_taken'],
  },
  deleteAutomationNode: {
    ...manage,
    liveOnly: true,
    role: 'admin',
    method: 'DELETE',
    path: '/v1/automations/nodes/{id}',
    summary: 'Revoke a node',
    description:
      'The device secret is revoked immediately, polls of the device end, and open commands fail with `node_revoked`.',
    params: idParams,
    response: deleted,
  },
  unpairAutomationNode: {
    tag,
    callers: ['device'],
    method: 'DELETE',
    path: '/v1/automations/nodes/{id}/pairing',
    summary: 'Unpair a device (called by the device)',
    description:
      'Has the effect of revoking the node: the device secret is revoked immediately, and open commands fail with `node_revoked`.',
    params: idParams,
    response: deleted,
  },
  listAutomationNodeCommands: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/nodes/{id}/command-history',
    summary: 'List the commands of a node',
    description: 'Newest first, also for revoked nodes. Inputs and outputs are in the steps of the runs.',
    params: idParams,
    query: listQuery.extend({
      status: z.enum(nodeCommandStatuses, `must be one of ${nodeCommandStatuses.join(', ')}`).optional(),
      type: text(1, 100).optional().describe('Only commands of this type, such as `node.ping`'),
    }),
    response: page(nodeCommand),
  },
  listAutomationNodeFacts: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/nodes/{id}/facts',
    summary: 'List the reported facts of a node',
    description:
      'Newest first, also for revoked nodes. Each change adds an entry; the newest 200 of each node are kept. Disk usage and battery charge count as changed after 10 percentage points.',
    params: idParams,
    query: listQuery,
    response: page(
      named('NodeFactsEntry', z.object({ id: id.describe('Id of the entry'), at: timestamp, facts: nodeFacts })),
    ),
  },
  heartbeatAutomationNode: {
    tag,
    callers: ['device'],
    method: 'POST',
    path: '/v1/automations/nodes/{id}/heartbeat',
    summary: 'Send a heartbeat (called by the device)',
    description:
      'Reports facts and renews the leases of running commands. A device without a heartbeat for three intervals counts as offline.',
    params: idParams,
    body: z.object({
      facts: deviceFacts.optional(),
      device: deviceInfo.optional(),
      paused: z.boolean().default(false).describe('Whether the owner of the device paused it'),
      audit: auditHead
        .extend({
          isBroken: z.boolean().default(false).describe('Whether the device found changed or missing entries'),
        })
        .optional()
        .describe(
          "Last entry of the device's own log; omitted until the device has compared its log with `audit` of a response",
        ),
      running: z
        .array(id)
        .max(64)
        .default([])
        .describe('Commands of the device that are running, or whose results are not confirmed yet'),
      browserRuns: z.array(id).max(100).default([]).describe('Runs whose browser pages the device keeps open'),
    }),
    response: z.object({
      ok: z.literal(true).describe('Always true: the heartbeat was recorded'),
      allowSystem: z.boolean().describe('Whether the workspace allows `system.*` commands on the node'),
      allowBrowser: z.boolean().describe('Whether the workspace allows `browser.*` commands on the node'),
      audit: auditHead.nullable().describe("Last entry of the device's log that the hub knew before this heartbeat"),
      withdrawn: z.array(id).describe('Commands among `running` that are no longer needed: end them'),
      endedRuns: z.array(id).describe('Runs among `browserRuns` that have ended: close their pages'),
      hub: hubPace,
    }),
  },
  pollAutomationNodeCommands: {
    tag,
    callers: ['device'],
    method: 'GET',
    path: '/v1/automations/nodes/{id}/commands',
    summary: 'Long poll for commands (called by the device)',
    description:
      'Waits up to `wait` seconds for a command. The device gets a lease on each command; a heartbeat that lists the command renews the lease. Commands of `running` that are no longer needed are returned in `withdrawn` immediately. With more than 8 concurrent polls of a device, the oldest returns empty. The WebSocket `/v1/automations/nodes/{id}/channel` avoids a request per command; see `docs/internals/device-protocol.md`.',
    params: idParams,
    query: z.object({
      wait: z.coerce
        .number()
        .int()
        .min(0, 'must be from 0 to 30')
        .max(30, 'must be from 0 to 30')
        .default(0)
        .describe('Maximum seconds to wait, 0 to 30'),
      max: z.coerce
        .number()
        .int()
        .min(0, 'must be from 0 to 16')
        .max(16, 'must be from 0 to 16')
        .default(1)
        .describe('Maximum number of commands, 0 to 16; 0 returns only `withdrawn`'),
      running: z
        .string()
        .max(64 * 37)
        .default('')
        .transform((list) => (list === '' ? [] : list.split(',')))
        .pipe(z.array(id).max(64))
        .describe('Ids of commands that are running or whose results are not confirmed yet, separated by commas'),
      runningIsComplete: z
        .enum(['true', 'false'])
        .default('false')
        .transform((value) => value === 'true')
        .describe(
          'True if `running` lists all commands of the device and it has no other poll. Other leased commands then count as lost; those that only read are leased again immediately',
        ),
    }),
    response: z.object({
      commands: z.array(polledCommand).describe('Commands for the device, at most `max`'),
      withdrawn: z.array(id).describe('Commands among `running` that are no longer needed'),
    }),
    maxOpenSeconds: 30,
  },
  completeAutomationNodeCommand: {
    tag,
    callers: ['device'],
    method: 'POST',
    path: '/v1/automations/nodes/{id}/commands/{commandId}/result',
    summary: 'Report the result of a command (called by the device)',
    description:
      'The body is JSON with artifacts in base64 (at most 12 MiB), or `multipart/form-data` with the JSON in the field `result` and one file per artifact. Artifacts that were uploaded in parts are listed in `uploads`. Artifacts of a failed result are discarded. Repeating a result returns 200 and changes nothing.',
    params: z.strictObject({ id, commandId: id }),
    body: commandResult,
    bodyLimitBytes,
    multipart: true,
    response: z.object({
      id: id.describe('Id of the command'),
      status: z.string().meta({ example: 'succeeded' }).describe('Current status of the command'),
      recorded: z.boolean().describe('False if the command had already ended; nothing changed'),
    }),
    errors: ['storage_full', 'checksum_mismatch'],
  },
  readAutomationNodeUpload: {
    tag,
    callers: ['device'],
    method: 'GET',
    path: '/v1/automations/nodes/{id}/commands/{commandId}/artifacts/{name}',
    summary: 'Get the state of an artifact upload (called by the device)',
    description:
      'Continue an interrupted upload at `received`. When no part has arrived yet, `received` is 0 and `complete` is false.',
    params: uploadParams,
    response: uploadState,
    errors: ['command_ended'],
  },
  uploadAutomationNodeArtifact: {
    tag,
    callers: ['device'],
    method: 'PUT',
    path: '/v1/automations/nodes/{id}/commands/{commandId}/artifacts/{name}',
    summary: 'Upload a part of an artifact (called by the device)',
    description:
      'For artifacts that are too large for the result, or for slow connections. The body is a part of any size, starting at `offset`. Bytes that arrive before a disconnect are kept; continue at `received`. A request without a body reserves storage and returns `received`. A part with a different size, checksum or content type restarts the upload. The checksum is verified after the last byte; after 422 `checksum_mismatch`, upload the artifact again. Uploads are deleted after one day without progress or when their command ends.',
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
