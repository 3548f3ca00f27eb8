import { z } from 'zod';
import { chatText } from '../chat/shapes.ts';
import { named, text } from '../common.ts';
import { defineResource } from '../define.ts';
import { languageCode, maxInputLength } from './runs.ts';

/**
 * The duplex protocol of voice: a WebSocket over which a person speaks with the AI agent, and either may fall silent when the other begins.
 * Each frame is a JSON text with a `type`. Every frame of a turn carries its `turnId`. A turn is sentence by sentence `text` of the assistant and its `audio`,
 * then `done`, once; nothing of a turn follows its `done`, and no other frame says `done: true`. The words of the user are sent as `text` of the role `user`
 * only to a client that asks for them, by `transcript` or `server_vad`. Who hears a frame of a later turn plays nothing more of the one before. What fails is an `error`, before the `done` of its turn if it has one.
 */

/** Subprotocol of the WebSocket. Clients that send their token otherwise may leave it out. */
export const voiceProtocol = 'outrigger.voice.v1';
/** Greatest frame that a hub takes, in bytes. */
export const maxVoiceFrameBytes = 8 * 1024 * 1024;
/** Longest utterance, in seconds; one that goes on is answered as far as it came. */
export const maxUtteranceSeconds = 60;
/** Longest piece of a stream, in seconds. */
export const maxPieceSeconds = 1;
/** Live connections of one person, over all processes of a hub. */
export const voiceSocketsEach = 2;
/** Utterances that wait while a turn is under way. */
export const maxWaitingTurns = 4;
/** The hub sends its speech ahead of its playing by so much at most, in milliseconds. */
export const speechLeadMs = 3_000;

export const voiceCloseCodes = {
  /** Not a frame of this protocol. */
  notUnderstood: 4400,
  /** The session counts no more, or its workspace is not entitled any more. */
  revoked: 4401,
  /** More than its reader took. */
  tooSlow: 4408,
  /** More frames, bytes or seconds of sound than speech needs, or a third connection of one person. */
  tooMany: 4429,
} as const;

const within = (least: number, most: number) =>
  z
    .int(`must be a whole number from ${least} to ${most}`)
    .min(least, `must be from ${least} to ${most}`)
    .max(most, `must be from ${least} to ${most}`);

const turnDetection = z.strictObject({
  type: z.enum(['none', 'server_vad'], 'must be none or server_vad').optional(),
  silenceMs: within(200, 5_000).optional(),
  minSpeechMs: within(30, 2_000).optional(),
});

/** What a page says of its sound; what it leaves out stays as it is, and what it takes back is null. */
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
  /** Of PCM that the page sends, in Hz; a WAV says its own. */
  sampleRate: number;
  /** In which is spoken and answered, by BCP 47; null for whatever it is. */
  language: string | null;
  /** With which is answered; null for that of the hub. */
  voice: string | null;
  /**
   * `none`: each `audio` is an utterance of its own. `server_vad`: the `audio` of a page is one stream, and the hub finds out when somebody speaks: an utterance has at
   * least `minSpeechMs` of speech, and ends with `silenceMs` without any.
   */
  turnDetection: { type: 'none' | 'server_vad'; silenceMs: number; minSpeechMs: number };
  /** With `server_vad`: whether what is said is told while it is, as far as it is understood: the last 15 seconds of it. */
  partial: boolean;
  /** Whether the words of the user are sent back, as `text` of the role `user`. With `server_vad` they always are. */
  transcript: boolean;
}

/** What holds until a page says otherwise. */
export const defaultVoiceConfig: VoiceConfig = {
  sampleRate: 16_000,
  language: null,
  voice: null,
  turnDetection: { type: 'none', silenceMs: 600, minSpeechMs: 150 },
  partial: false,
  transcript: false,
};

/** What a page sends. */
export const voiceRequestFrame = z.discriminatedUnion(
  'type',
  [
    z.object({
      type: z.literal('audio'),
      /** Base64 of PCM, signed, 16 bits, little-endian, mono; or of a WAV. */
      data: z.string('must be text: base64'),
    }),
    z.object({ type: z.literal('text'), data: chatText(1, maxInputLength) }),
    z.object({
      type: z.literal('interrupt'),
      /** Which turn, and how much of it was played; without them the turn that is heard, as far as it can have been played. */
      data: z.strictObject({ turnId: z.uuid().optional(), playedMs: z.number().min(0).optional() }).optional(),
    }),
    z.object({ type: z.literal('config'), data: voiceConfigChange }),
  ],
  'must be audio, text, interrupt or config',
);
export type VoiceRequestFrame = z.input<typeof voiceRequestFrame>;

const turnId = z.uuid();
const ms = z.int().min(0);

/** What it hears. */
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
            'Of the user, sent with `transcript` or `server_vad` only: what was understood so far, of the last 15 seconds until it is final, in the place of what was told before; empty at the moment in which speech begins a turn. Of the assistant: the next sentence, ahead of its audio',
          ),
        final: z.boolean().optional().describe('Of the user: whether these are all the words of this turn'),
      }),
    ),
    named(
      'VoiceAudioFrame',
      z.object({
        type: z.literal('audio'),
        turnId,
        data: z.string().describe('Base64 of PCM, signed, 16 bits, little-endian, mono'),
        sampleRate: z.int().describe('In Hz'),
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
            transcribe: ms.optional().describe('From the end of what was said until it was understood'),
            firstText: ms.optional().describe('From there to the first sentence of the answer'),
            firstAudio: ms.optional().describe('From there to the first audio of it'),
            toFirstAudio: ms
              .optional()
              .describe('From the end of what was said to the first audio: what a person waits'),
            total: ms.describe('From the end of what was said to this frame'),
          })
          .describe('By stage; a stage that was not reached is left out'),
        interrupted: z.boolean().describe('Whether it was ended before its end: play nothing of it any more'),
      }),
    ),
    named(
      'VoiceErrorFrame',
      z.object({
        type: z.literal('error'),
        turnId: turnId.optional(),
        data: z.string().describe('For people: what is wrong and what to do'),
        code: z.string().describe('For programs: stable, as of every operation'),
        requestId: z.string().describe('Of the connection, as the log of the hub names it'),
      }),
    ),
  ]),
);
export type VoiceFrame = z.output<typeof voiceFrame>;
export type VoiceLatency = Extract<VoiceFrame, { type: 'done' }>['latencyMs'];

/** Becomes a WebSocket, which no OpenAPI document can describe. */
export const voiceSockets = defineResource({
  connectVoice: {
    tag: 'AI Agent',
    callers: ['token', 'session'],
    permission: 'ai:voice',
    role: 'agent',
    entitlement: ['ai_agent', 'business_phone'],
    method: 'GET',
    path: '/ai/voice/ws',
    summary: 'Speak with the AI agent',
    description: 'docs/ai.md says what goes through it.',
    query: z.strictObject({ token: z.string().max(4_096).optional() }),
    socket: { protocol: voiceProtocol, otherProtocols: true, maxFrameBytes: maxVoiceFrameBytes, tokenInQuery: true },
    response: z.never(),
    errors: ['upgrade_required'],
  },
});
