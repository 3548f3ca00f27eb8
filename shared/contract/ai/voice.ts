import { z } from 'zod';
import { chatText } from '../chat/shapes.ts';
import { named, text } from '../common.ts';
import { defineResource } from '../define.ts';
import { languageCode, maxInputLength } from './runs.ts';

/**
 * The duplex voice protocol: a WebSocket over which a user speaks with the AI agent. Each side can interrupt the other.
 * Each frame is a JSON text with a `type`. Every frame of a turn has its `turnId`.
 * For each sentence of a turn, the hub sends `text` of the assistant, then its `audio`. It ends the turn with one
 * `done`.
 * No frame of a turn follows its `done`, and no other frame contains `done: true`.
 * The words of the user are sent as `text` of the role `user` only with `transcript` or `server_vad`.
 * When a client receives a frame of a later turn, it stops playing the earlier one.
 * A failure is an `error` frame, sent before the `done` of its turn.
 */

/** Subprotocol of the WebSocket. Optional for clients that do not send their token as a subprotocol. */
export const voiceProtocol = 'outrigger.voice.v1';
/** Maximum size of a frame to the hub, in bytes. */
export const maxVoiceFrameBytes = 8 * 1024 * 1024;
/** Maximum length of an utterance, in seconds. A longer one is cut at this length and answered. */
export const maxUtteranceSeconds = 60;
/** Maximum length of one audio frame of a stream, in seconds. */
export const maxAudioFrameSeconds = 1;
/** Maximum number of connections of one user, over all processes of a hub. */
export const maxVoiceSocketsPerUser = 2;
/** Maximum number of utterances that wait while a turn is in progress. */
export const maxWaitingTurns = 4;
/** Maximum time by which the hub sends speech ahead of its playback, in milliseconds. */
export const speechLeadMs = 3_000;

export const voiceCloseCodes = {
  /** The frame is not part of this protocol. */
  invalidFrame: 4400,
  /** The session ended, or the workspace lost its entitlement. */
  revoked: 4401,
  /** The client read too slowly and its send buffer is full. */
  tooSlow: 4408,
  /** Too many frames, bytes or seconds of audio, or too many connections of one user. */
  tooMany: 4429,
} as const;

const within = (min: number, max: number) =>
  z
    .int(`must be a whole number from ${min} to ${max}`)
    .min(min, `must be from ${min} to ${max}`)
    .max(max, `must be from ${min} to ${max}`);

const turnDetection = z.strictObject({
  type: z.enum(['none', 'server_vad'], 'must be none or server_vad').optional(),
  silenceMs: within(200, 5_000).optional(),
  minSpeechMs: within(30, 2_000).optional(),
});

/** A change of the configuration by the page. Omitted fields do not change; null resets a field. */
export const voiceConfigChange = z.strictObject({
  sampleRate: within(8_000, 48_000).optional(),
  language: languageCode.nullable().optional(),
  voice: text(1, 100).nullable().optional(),
  turnDetection: turnDetection.optional(),
  partial: z.boolean('must be true or false').optional(),
  transcript: z.boolean('must be true or false').optional(),
});

export type VoiceConfigChange = z.output<typeof voiceConfigChange>;

export interface VoiceConfig {
  /** Sample rate of PCM from the page, in Hz. A WAV declares its own. */
  sampleRate: number;
  /** Language of the user and the answers (BCP 47); null to detect it. */
  language: string | null;
  /** Voice of the answers; null for the default voice of the hub. */
  voice: string | null;
  /**
   * `none`: each `audio` frame is one utterance. `server_vad`: the `audio` frames are one stream in which the hub
   * detects speech. An utterance has at least `minSpeechMs` of speech and ends after `silenceMs` of silence.
   */
  turnDetection: { type: 'none' | 'server_vad'; silenceMs: number; minSpeechMs: number };
  /** With `server_vad`: whether the hub sends interim transcripts of the last 15 seconds while the user speaks. */
  partial: boolean;
  /** Whether the words of the user are sent back, as `text` of the role `user`. Always the case with `server_vad`. */
  transcript: boolean;
}

/** Configuration until the page changes it. */
export const defaultVoiceConfig: VoiceConfig = {
  sampleRate: 16_000,
  language: null,
  voice: null,
  turnDetection: { type: 'none', silenceMs: 600, minSpeechMs: 150 },
  partial: false,
  transcript: false,
};

/** Frames from the page. */
export const voiceRequestFrame = z.discriminatedUnion(
  'type',
  [
    z.object({
      type: z.literal('audio'),
      /** PCM (signed, 16 bits, little-endian, mono) or WAV, as base64. */
      data: z.string('must be text: base64'),
    }),
    z.object({ type: z.literal('text'), data: chatText(1, maxInputLength) }),
    z.object({
      type: z.literal('interrupt'),
      /** Interrupted turn and its played time. When omitted, the current turn and its maximum possible playback. */
      data: z.strictObject({ turnId: z.uuid().optional(), playedMs: z.number().min(0).optional() }).optional(),
    }),
    z.object({ type: z.literal('config'), data: voiceConfigChange }),
  ],
  'must be audio, text, interrupt or config',
);
export type VoiceRequestFrame = z.input<typeof voiceRequestFrame>;

const turnId = z.uuid();
const ms = z.int().min(0);

/** Frames to the page. */
export const voiceFrame = named(
  'VoiceFrame',
  z.discriminatedUnion('type', [
    named(
      'VoiceTextFrame',
      z.object({
        type: z.literal('text'),
        turnId,
        role: z.enum(['user', 'assistant']),
        data: z
          .string()
          .describe(
            'Role `user`, only with `transcript` or `server_vad`: the transcript so far, which replaces the previous one; limited to the last 15 seconds until it is final; empty when speech starts a turn. Role `assistant`: the next sentence, sent before its audio',
          ),
        final: z.boolean().optional().describe('Role `user`: whether the transcript of the turn is complete'),
      }),
    ),
    named(
      'VoiceAudioFrame',
      z.object({
        type: z.literal('audio'),
        turnId,
        data: z.string().describe('PCM (signed, 16 bits, little-endian, mono) as base64'),
        sampleRate: z.int().describe('Sample rate in Hz'),
      }),
    ),
    named(
      'VoiceDoneFrame',
      z.object({
        type: z.literal('done'),
        turnId,
        done: z.literal(true),
        latencyMs: z
          .object({
            transcribe: ms.optional().describe('From the end of the utterance to its transcript'),
            firstText: ms.optional().describe('From the transcript to the first sentence of the answer'),
            firstAudio: ms.optional().describe('From the first sentence to its first audio'),
            toFirstAudio: ms
              .optional()
              .describe('From the end of the utterance to the first audio: the waiting time of the user'),
            total: ms.describe('From the end of the utterance to this frame'),
          })
          .describe('Latency by stage; a stage that was not reached is omitted'),
        interrupted: z.boolean().describe('Whether the turn was interrupted: stop its playback'),
      }),
    ),
    named(
      'VoiceErrorFrame',
      z.object({
        type: z.literal('error'),
        turnId: turnId.optional(),
        data: z.string().describe('Human-readable message: what is wrong and what to do'),
        code: z.string().describe('Stable error code, for programs'),
        requestId: z.string().describe('Id of the connection in the log of the hub'),
      }),
    ),
  ]),
);
export type VoiceFrame = z.output<typeof voiceFrame>;
export type VoiceLatency = Extract<VoiceFrame, { type: 'done' }>['latencyMs'];

/** Becomes a WebSocket, which OpenAPI cannot describe. */
export const voiceSockets = defineResource({
  connectVoice: {
    tag: 'AI Agent',
    callers: ['token', 'session'],
    permission: 'ai:voice',
    role: 'agent',
    entitlement: ['ai_agent', 'business_phone'],
    method: 'GET',
    path: '/ai/voice/ws',
    summary: 'Open a voice connection to the AI agent',
    description: 'docs/reference/voice-protocol.md describes the protocol.',
    query: z.strictObject({ token: z.string().max(4_096).optional() }),
    socket: { protocol: voiceProtocol, otherProtocols: true, maxFrameBytes: maxVoiceFrameBytes, tokenInQuery: true },
    response: z.never(),
    errors: ['upgrade_required'],
  },
});
