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
      name: name
        .optional()
        .describe('Unique among the nodes of the workspace; the name that the device reports when left out'),
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
    errors: ['workspace_limit_reached', 'node_name_taken'],
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
    response: z.object({
      nodeId: id.describe('Id of the node'),
      deviceSecret: z.string().describe('Secret with which the device signs in, shown only in this answer'),
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
    summary: 'Prove that this is the hub of a paired device (the device calls this)',
    description:
      'A device whose hub moves asks at the new address, before it sends its secret there. The proof is HMAC-SHA256 in hex, keyed with the SHA-256 of the device secret, over the lines `outrigger.hub-proof.v1`, node id, hub address and nonce. The hub proves only its own address (`PUBLIC_URL`), so that nobody can pass the request on to it.',
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
    summary: 'Show a companion node',
    description: 'Also a revoked one, with the status `revoked`.',
    params: idParams,
    response: node,
  },
  updateAutomationNode: {
    ...manage,
    liveOnly: true,
    role: 'admin',
    method: 'PATCH',
    path: '/v1/automations/nodes/{id}',
    summary: 'Rename a node, or change what it may do',
    description:
      'Workflows that select the node by its name (`node`) fail until they name the new one; those that use `nodeId` are not affected.',
    params: idParams,
    body: z
      .strictObject({
        name: name.optional().describe('Unique among the nodes of the workspace, 1 to 200 characters'),
        allowSystem: z.boolean().optional().describe('Whether the workspace allows `system.*` commands on the node'),
        allowBrowser: z.boolean().optional().describe('Whether the workspace allows `browser.*` commands on the node'),
      })
      .refine(
        (body) => Object.values(body).some((value) => value !== undefined),
        'give at least one of name, allowSystem, allowBrowser',
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
    description: 'Its secret stops working at once, its polls end, its open commands fail with `node_revoked`.',
    params: idParams,
    response: deleted,
  },
  unpairAutomationNode: {
    tag,
    callers: ['device'],
    method: 'DELETE',
    path: '/v1/automations/nodes/{id}/pairing',
    summary: 'Leave the hub (the device calls this)',
    description:
      'As if the workspace revoked the node: its secret stops working at once, and its open commands fail with `node_revoked`.',
    params: idParams,
    response: deleted,
  },
  listAutomationNodeCommands: {
    ...manage,
    permission: 'automations:read',
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
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/nodes/{id}/facts',
    summary: 'List what a node said of itself over time',
    description:
      'Newest first, and of a revoked node as well: an entry whenever something changed, the newest 200 of each node. Use of disks and the charge of a battery count as changed from ten points on.',
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
    summary: 'Report facts and extend the leases of running commands (the device calls this)',
    description: 'A device that sends none for three times the pace that the hub asks for counts as offline.',
    params: idParams,
    body: z.object({
      facts: deviceFacts.optional(),
      device: deviceInfo.optional(),
      paused: z.boolean().default(false).describe('Whether the owner of the device paused it'),
      audit: auditHead
        .extend({ isBroken: z.boolean().default(false).describe('The device found entries changed or missing') })
        .optional()
        .describe(
          "The last entry of the device's own log; left out until the device has compared its log with `audit` of an answer",
        ),
      running: z
        .array(id)
        .max(64)
        .default([])
        .describe('Commands that the device holds: being worked on, or finished and their results not confirmed yet'),
      browserRuns: z.array(id).max(100).default([]).describe('Runs whose browser pages the device keeps open'),
    }),
    response: z.object({
      ok: z.literal(true).describe('Always true: the heartbeat was recorded'),
      allowSystem: z.boolean().describe('Whether the workspace allows `system.*` commands on the node'),
      allowBrowser: z.boolean().describe('Whether the workspace allows `browser.*` commands on the node'),
      audit: auditHead.nullable().describe("What the hub knew of the device's log before this heartbeat"),
      withdrawn: z.array(id).describe('Of those running: no longer wanted, end them'),
      endedRuns: z.array(id).describe('Of `browserRuns`: runs that are over, close their pages'),
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
      'Holds the request up to `wait` seconds until there is a command. Each command is handed out under a lease; a heartbeat that names it extends the lease. `running` names commands that the device holds; those no longer wanted come back in `withdrawn`, at once. A device that waits in more than 8 polls loses the oldest, which ends empty. Without a new request for each, and with less to wait for: the WebSocket `/v1/automations/nodes/{id}/channel`, which `docs/companion.md` describes.',
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
    response: z.object({
      commands: z.array(polledCommand).describe('Commands for the device, at most `max`'),
      withdrawn: z.array(id).describe('Ids among `running` that are no longer wanted'),
    }),
    maxOpenSeconds: 30,
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
      id: id.describe('Id of the command'),
      status: z.string().meta({ example: 'succeeded' }).describe('Status of the command now'),
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
