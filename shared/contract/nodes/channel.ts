import { z } from 'zod';
import { id, idParams } from '../common.ts';
import { defineResource } from '../define.ts';

/**
 * The channel of a device: a WebSocket that carries what its operations carry, under the same leases, for whoever can hold one open.
 * Each frame is a JSON text. A device numbers its requests and may have several under way; the hub answers each by its number, in any order.
 * Frames of another `type`, and fields that are not known, are left out of account in both directions.
 */
export const channelProtocol = 'outrigger.node.v1';

/** Greatest frame that a hub takes, in bytes; a greater result goes by its operation. */
export const maxChannelFrameBytes = 1024 * 1024;

/** A device that heard nothing for so long, not even a ping, has lost its channel, in seconds. */
export const channelSilenceSeconds = 50;

export const deviceRequestTypes = ['poll', 'heartbeat', 'result'] as const;
export type DeviceRequestType = (typeof deviceRequestTypes)[number];

/** What a device asks; the `body` of `heartbeat` and `result` is that of their operations. */
export const deviceRequest = z.object({
  id: z.int().min(0),
  type: z.enum(deviceRequestTypes),
  /** With `result`; judged with the rest of it. */
  commandId: z.unknown().optional(),
  body: z.unknown().optional(),
});
export type DeviceRequest = z.output<typeof deviceRequest>;

/** The `body` of a `poll`: the query of its operation, with a longer wait. */
export const channelPoll = z.object({
  wait: z.int().min(0, 'must be from 0 to 600').max(600, 'must be from 0 to 600').default(0),
  max: z.int().min(0, 'must be from 0 to 16').max(16, 'must be from 0 to 16').default(1),
  running: z.array(id).max(64).default([]),
  runningIsComplete: z.boolean().default(false),
});

/** What the hub answers: status and body as over HTTP. */
export const hubAnswer = z.object({
  id: z.int().min(0),
  type: z.literal('answer'),
  status: z.int().min(200).max(599),
  body: z.unknown(),
  retryAfterSeconds: z.number().optional(),
});
export type HubAnswerFrame = z.output<typeof hubAnswer>;

/** Why a channel ends, as the codes of its close frames. */
export const channelCloseCodes = {
  /** Not a frame of this protocol. */
  notUnderstood: 4400,
  /** The device is not paired any more. */
  revoked: 4401,
  /** The same device opened another one. */
  replaced: 4409,
  /** More frames at once than a device needs. */
  tooMany: 4429,
} as const;

export const nodeChannel = defineResource({
  connectAutomationNode: {
    tag: 'Companion nodes',
    callers: ['device'],
    method: 'GET',
    path: '/v1/automations/nodes/{id}/channel',
    summary: 'Open the channel of a device (the device calls this)',
    description: 'docs/companion.md says what goes through it.',
    params: idParams,
    socket: { protocol: channelProtocol, maxFrameBytes: maxChannelFrameBytes },
    response: z.never(),
    errors: ['upgrade_required'],
  },
});
