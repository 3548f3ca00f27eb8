import { z } from 'zod';
import { defineArtifactCommand } from './define.ts';

const media = {
  contentType: z.string().max(100),
  bytes: z.int().min(1),
  width: z.int().min(1).optional().describe('Width in pixels'),
  height: z.int().min(1).optional().describe('Height in pixels'),
  durationMs: z.int().min(0).optional(),
};

const output = z.object({ artifactId: z.uuid(), ...media });
const reply = z.object({ artifact: z.string().min(1).max(200), ...media });

const device = z
  .string()
  .min(1)
  .max(300)
  .describe('Name or id of the device, as listed by `outrigger-companion doctor`; the default device when omitted')
  .optional();

export const captureScreen = defineArtifactCommand({
  type: 'node.capture_screen',
  title: 'Capture the screen',
  summary: 'Takes a screenshot of one display of the node.',
  gate: 'none',
  acts: false,
  timeoutMs: 30_000,
  input: z.strictObject({
    display: z.int().min(0).max(15).default(0).describe('Index of the display; 0 is the main one'),
    format: z.enum(['png', 'jpeg']).default('png'),
    quality: z.int().min(1).max(100).default(80).describe('Quality, for JPEG only'),
  }),
  output,
  reply,
});

export const captureCamera = defineArtifactCommand({
  type: 'node.capture_camera',
  title: 'Capture a camera picture',
  summary: 'Takes one JPEG picture with a camera of the node. Requires ffmpeg on the node.',
  gate: 'none',
  acts: false,
  timeoutMs: 30_000,
  input: z.strictObject({ device }),
  output,
  reply,
});

export const captureAudio = defineArtifactCommand({
  type: 'node.capture_audio',
  title: 'Record audio',
  summary: 'Records a WAV clip with a microphone of the node. Requires ffmpeg on the node.',
  gate: 'none',
  acts: false,
  timeoutMs: 90_000,
  input: z.strictObject({
    seconds: z.number().min(1).max(60).default(5),
    device,
  }),
  output,
  reply,
});
