import { z } from 'zod';
import { commandOrigin } from '../../commands/origin.ts';
import { id, named, text, timestamp } from '../common.ts';

export const nodeStatuses = ['pending', 'online', 'offline', 'revoked'] as const;

/** The answers of the owner and of the operating system about one power of a device. */
const devicePower = named(
  'DevicePower',
  z
    .object({
      isAllowed: z.boolean().describe('Whether the owner of the device allows the power now'),
      until: timestamp.nullable().describe("When the owner's permission expires; null if it does not"),
      asksOwner: z.boolean().describe('Whether the owner is asked about each use that no rule of the owner decides'),
      system: z
        .object({
          state: z
            .enum(['granted', 'denied', 'missing', 'unknown'])
            .describe('`missing`: a device or program is missing; `unknown`: only a use shows it'),
          detail: text(0, 500).describe(
            'Details, such as the displays or the missing program. Empty unless the owner allows the power',
          ),
          remedy: z
            .object({
              text: text(0, 500).describe('What the owner of the device can do'),
              command: text(1, 500).nullable().describe('Command to run on the device; null if there is none'),
            })
            .nullable()
            .describe('How to solve a problem; null without one'),
        })
        .describe('Whether the operating system lets the companion use the power'),
    })
    .describe(
      'Switch of the owner and answer of the operating system for a power. It is not trusted: show it as text only',
    ),
);

/**
 * What a device reports about itself. It is untrusted input: show it as text only.
 * Unknown fields from newer devices are removed, here and in the schemas below.
 */
export const deviceInfo = named(
  'DeviceInfo',
  z
    .object({
      name: text(1, 200).describe('Host name of the device'),
      platform: text(1, 50).describe('Platform as Node.js names it: `linux`, `darwin` or `win32`'),
      arch: text(1, 50).describe('Processor architecture as Node.js names it, such as `x64` or `arm64`'),
      osVersion: text(0, 200).describe('Version of the operating system; may be empty'),
      appVersion: text(1, 50).describe('Version of the companion'),
      capabilities: z.array(text(1, 100)).max(100).describe('Command types that the device can execute now'),
      powers: named(
        'DevicePowers',
        z
          .object({
            screen: devicePower.optional(),
            camera: devicePower.optional(),
            audio: devicePower.optional(),
            files: devicePower.optional(),
            system: devicePower.optional(),
            browser: devicePower.optional(),
          })
          .describe('Powers of a device by name'),
      )
        .optional()
        .describe(
          'State of each power on the device; missing until the companion reports it, and for earlier companions',
        ),
    })
    .describe('What a device reports about itself. It is not trusted: show it as text only'),
);

/** Facts of a heartbeat; each is optional. */
export const deviceFacts = named(
  'DeviceFacts',
  z
    .object({
      cpu: z
        .object({
          model: text(0, 200).describe('Model of the processor'),
          cores: z.int().min(0).max(4096).describe('Logical cores'),
          loadPercent: z.number().min(0).max(100).describe('Load over all cores, 0 to 100'),
        })
        .optional()
        .describe('Processor; missing when it is not known'),
      memory: z
        .object({
          totalBytes: z.int().min(0).describe('Installed memory, in bytes'),
          availableBytes: z.int().min(0).describe('Memory that programs can still use, in bytes'),
        })
        .optional()
        .describe('Main memory; missing when it is not known'),
      disks: z
        .array(
          z.object({
            mount: text(0, 500).describe('Mount point or drive, such as `/` or `C:`'),
            totalBytes: z.int().min(0).describe('Capacity, in bytes'),
            usedBytes: z.int().min(0).describe('Used space, in bytes'),
          }),
        )
        .max(50)
        .optional()
        .describe('Mounted file systems, at most 50'),
      battery: z
        .object({
          percent: z.number().min(0).max(100).describe('Charge, 0 to 100'),
          charging: z.boolean().describe('Whether the battery is being charged'),
        })
        .nullable()
        .optional()
        .describe('Battery; null for a device without one'),
      displays: z
        .array(
          z.object({
            index: z.int().min(0).describe('Index of the display, from 0, as used in `screen` commands'),
            name: text(0, 200).describe('Name of the display; may be empty'),
            width: z.int().min(0).describe('Width in pixels'),
            height: z.int().min(0).describe('Height in pixels'),
          }),
        )
        .max(16)
        .optional()
        .describe('Displays, at most 16'),
      uptimeSeconds: z.number().min(0).optional().describe('Seconds since the device started'),
      waitingForOwner: z
        .array(id)
        .max(64)
        .optional()
        .describe('Commands that wait for the owner of the device to allow them'),
    })
    .describe('Device information of a heartbeat; each field is optional'),
);

/** Maximum number of tags of a node. */
export const maxNodeTags = 20;

export const nodeTag = z
  .string()
  .normalize()
  .regex(
    /^[\p{L}\p{N}][\p{L}\p{M}\p{N}._:-]{0,49}$/u,
    'must have 1 to 50 letters, digits or . _ : -, and start with a letter or a digit',
  )
  .meta({ example: 'office' });

export const nodeTags = z
  .array(nodeTag)
  .max(maxNodeTags)
  .refine((tags) => new Set(tags).size === tags.length, 'must not contain a tag twice')
  .describe('Tags, in upper or lower case as given; steps can select a node by one of its tags');

export const node = named(
  'Node',
  z.object({
    id: id.describe('Id of the node'),
    name: z
      .string()
      .describe('Name, unique among the paired nodes of the workspace; steps can select the node by name'),
    tags: z.array(z.string()).describe('Tags; steps can select a node by one of its tags'),
    status: z.enum(nodeStatuses).describe('`pending` until the companion connects for the first time after pairing'),
    allowSystem: z.boolean().describe('Whether the workspace allows `system.*` commands on the node'),
    allowBrowser: z.boolean().describe('Whether the workspace allows `browser.*` commands on the node'),
    device: deviceInfo.nullable().describe('What the device reports about itself; null before it was paired'),
    facts: deviceFacts
      .nullable()
      .describe(
        'Device information from the last heartbeat, such as memory and disks; null before the first heartbeat',
      ),
    paused: z.boolean().describe('Whether the owner of the device paused it, so that it refuses every command'),
    audit: z
      .object({
        entries: z.int().min(0).describe('Number of entries in the log'),
        hash: z
          .string()
          .describe('SHA-256 of the last entry, which includes the hash of the previous entry')
          .meta({ example: 'ab'.repeat(32) }),
        brokenAt: timestamp
          .nullable()
          .describe(
            'When the device first reported a truncated, changed or restarted log; null if never. It is never cleared: a later report cannot prove that nothing was removed',
          ),
      })
      .nullable()
      .describe("The last entry of the device's own log; null until the device reports one"),
    pairedAt: timestamp.nullable(),
    lastSeenAt: timestamp.nullable(),
    createdAt: timestamp,
    updatedAt: timestamp,
  }),
);

/** Number and hash of the last entry of the device's own log. */
export const auditHead = named(
  'AuditHead',
  z.object({
    count: z.int().min(0).describe('Number of entries in the log of the device'),
    hash: z
      .string()
      .regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in hex')
      .meta({ example: 'ab'.repeat(32) })
      .describe('SHA-256 of the last entry, as 64 hexadecimal digits'),
  }),
);

/** What a node reported, from one time on. Values that change constantly are stored in steps of about 10 points. */
export const nodeFacts = named(
  'NodeFacts',
  z
    .object({
      device: deviceInfo
        .omit({ powers: true })
        .nullable()
        .describe('What the device reported about itself; null before it was paired'),
      paused: z.boolean().describe('Whether the owner of the device had paused it'),
      allowSystem: z.boolean().describe('Whether the workspace allowed `system.*` commands'),
      allowBrowser: z.boolean().describe('Whether the workspace allowed `browser.*` commands'),
      cpu: z
        .object({ model: z.string().describe('Model of the processor'), cores: z.int().describe('Logical cores') })
        .nullable()
        .describe('Processor; null when it was not known'),
      memory: z
        .object({ totalBytes: z.int().describe('Installed memory, in bytes') })
        .nullable()
        .describe('Main memory; null when it was not known'),
      disks: z
        .array(
          z.object({
            mount: z.string().describe('Mount point or drive, such as `/` or `C:`'),
            totalBytes: z.int().describe('Capacity, in bytes'),
            usedPercent: z.number().describe('Used space, 0 to 100, in steps of about 10'),
          }),
        )
        .describe('Mounted file systems'),
      battery: z
        .object({
          percent: z.number().describe('Charge, 0 to 100, in steps of about 10'),
          charging: z.boolean().describe('Whether the battery was being charged'),
        })
        .nullable()
        .describe('Battery; null for a device without one'),
      displays: z
        .array(
          z.object({
            index: z.int().describe('Index of the display, from 0'),
            name: z.string().describe('Name of the display; may be empty'),
            width: z.int().describe('Width in pixels'),
            height: z.int().describe('Height in pixels'),
          }),
        )
        .describe('Displays'),
    })
    .describe('What a node reported, from one time on'),
);

export const nodeCommandStatuses = ['pending', 'leased', 'succeeded', 'failed', 'withdrawn'] as const;

/** A command without its input and output, which can be large or private. */
export const nodeCommand = named(
  'NodeCommand',
  z.object({
    id: id.describe('Id of the command'),
    type: z.string().meta({ example: 'node.ping' }).describe('Type of the command, such as `node.ping`'),
    status: z
      .enum(nodeCommandStatuses)
      .describe('`leased`: the device has it; `withdrawn`: the run no longer needs it'),
    runId: id.describe('Run that sent the command'),
    stepIndex: z.int().describe('Index of the step that sent it, from 0'),
    attempt: z.int().describe('Attempt of the step that sent it, from 1'),
    createdAt: timestamp,
    handedOutAt: timestamp.nullable(),
    finishedAt: timestamp.nullable(),
    error: z
      .object({
        code: z.string().describe('Stable code, for programs'),
        message: z.string().describe('Human-readable message: what went wrong'),
      })
      .nullable()
      .describe('Why the command failed; null unless it failed'),
  }),
);

/** Intervals that the hub sets for a device, in seconds. */
export const hubPace = named(
  'HubPace',
  z
    .object({
      pollSeconds: z.int().describe('Seconds for which the device should keep a poll open'),
      heartbeatSeconds: z.int().describe('Seconds between two heartbeats'),
    })
    .describe('How often the device should call the hub'),
);

/** The approval of a command. The device compares `requestHash` with the command before it runs the command. */
export const commandApproval = named(
  'CommandApproval',
  z
    .object({
      id: id.describe('Id of the approval'),
      requestHash: z
        .string()
        .regex(/^[0-9a-f]{64}$/)
        .meta({
          description: 'SHA-256 of the canonical JSON (RFC 8785) of node, argv, cwd, env, stdin and timeoutMs',
          example: 'ab'.repeat(32),
        }),
      approvedBy: z.string().describe('Actor who approved, as in the audit log'),
      approvedAt: timestamp,
    })
    .describe('Approval of a command, which the device checks before it runs the command'),
);
export type CommandApproval = z.output<typeof commandApproval>;

export const polledCommand = named(
  'Command',
  z.object({
    id: id.describe('Id of the command'),
    type: z.string().meta({ example: 'node.ping' }).describe('Type of the command, such as `node.ping`'),
    input: z.record(z.string(), z.unknown()).describe('Input of the command; its fields depend on `type`'),
    expiresAt: timestamp.describe('After this time the hub ignores the result'),
    endsInMs: z
      .int()
      .min(0)
      .describe(
        'Milliseconds from now until the device must end the command, independent of its clock; at the latest `expiresAt`',
      ),
    leaseSeconds: z.int().describe('Seconds until the lease expires unless a heartbeat renews it'),
    approval: commandApproval.optional(),
    origin: commandOrigin.optional(),
  }),
);

/** The message of the hub's proof to a device: an HMAC-SHA256, keyed with the SHA-256 of the device secret. */
export const hubProofText = (nodeId: string, { hub, nonce }: { hub: string; nonce: string }): string =>
  ['outrigger.hub-proof.v1', nodeId, hub, nonce].join('\n');
