import { z } from 'zod';
import { id, idParams } from '../common.ts';
import { defineResource } from '../define.ts';

/**
 * The channel of a device: a WebSocket with the same requests, responses and leases as the HTTP operations of devices.
 * Each frame is a JSON text. A device numbers its requests and can send several concurrently. The hub answers each with
 * its number, in any order. Both sides ignore frames with an unknown `type` and unknown fields.
 */
export const channelProtocol = 'outrigger.node.v1';

/** Maximum size of a frame to the hub, in bytes. Devices send larger results with the HTTP operation. */
export const maxChannelFrameBytes = 1024 * 1024;

/** A device considers its channel lost after this time without a frame or ping, in seconds. */
export const channelSilenceSeconds = 50;

export const deviceRequestTypes = ['poll', 'heartbeat', 'result'] as const;
export type DeviceRequestType = (typeof deviceRequestTypes)[number];

/** A request of a device. The `body` of `heartbeat` and `result` is that of the HTTP operations. */
export const deviceRequest = z.object({
  id: z.int().min(0),
  type: z.enum(deviceRequestTypes),
  /** For `result`; validated together with its body. */
  commandId: z.unknown().optional(),
  body: z.unknown().optional(),
});
export type DeviceRequest = z.output<typeof deviceRequest>;

/** The `body` of a `poll`: the query of the HTTP operation, with a longer maximum wait. */
export const channelPoll = z.object({
  wait: z.int().min(0, 'must be from 0 to 600').max(600, 'must be from 0 to 600').default(0),
  max: z.int().min(0, 'must be from 0 to 16').max(16, 'must be from 0 to 16').default(1),
  running: z.array(id).max(64).default([]),
  runningIsComplete: z.boolean().default(false),
});

/** A response of the hub, with status and body as over HTTP. */
export const hubAnswer = z.object({
  id: z.int().min(0),
  type: z.literal('answer'),
  status: z.int().min(200).max(599),
  body: z.unknown(),
  retryAfterSeconds: z.number().optional(),
});
export type HubAnswerFrame = z.output<typeof hubAnswer>;

/** Close codes of the channel. */
export const channelCloseCodes = {
  /** The frame is not part of this protocol. */
  invalidFrame: 4400,
  /** The device is no longer paired. */
  revoked: 4401,
  /** The same device opened another channel. */
  replaced: 4409,
  /** The device sent too many frames. */
  tooMany: 4429,
} as const;

export const nodeChannel = defineResource({
  connectAutomationNode: {
    tag: 'Companion nodes',
    callers: ['device'],
    method: 'GET',
    path: '/v1/automations/nodes/{id}/channel',
    summary: 'Open the channel of a device (called by the device)',
    description: 'docs/internals/device-protocol.md describes the protocol.',
    params: idParams,
    socket: { protocol: channelProtocol, maxFrameBytes: maxChannelFrameBytes },
    response: z.never(),
    errors: ['upgrade_required'],
  },
});
