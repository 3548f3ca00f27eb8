import { z } from 'zod';
import { commandOrigin } from '../../commands/origin.ts';
import { id, named, text, timestamp } from '../common.ts';

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
export const nodeCommand = named(
  'NodeCommand',
  z.object({
    id,
    type: z.string().meta({ example: 'node.ping' }),
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
    type: z.string().meta({ example: 'node.ping' }),
    input: z.record(z.string(), z.unknown()),
    expiresAt: timestamp.describe('After this the hub no longer wants the answer'),
    endsInMs: z.int().min(0).describe('The same as a time from now on, whatever the clock of the device says'),
    leaseSeconds: z.int(),
    approval: commandApproval.optional(),
    origin: commandOrigin.optional(),
  }),
);
