import { frameMs, frameSamples } from './voice-activity.ts';
import type { VoiceActivity } from './voice-activity.ts';

export interface DetectorSettings {
  /** Duration of silence that ends an utterance. */
  silenceMs: number;
  /** Minimum duration of voice in an utterance. */
  minSpeechMs: number;
  /** An utterance of this duration ends without a silence. */
  maxUtteranceMs: number;
}

/** `began`: an utterance contains enough voice. `ended`: the complete utterance, signed 16 bits at 16 kHz. */
export type DetectorEvent = { kind: 'began' } | { kind: 'ended'; pcm: Uint8Array };

/** Sound kept before the first detected voice, because words begin softly. */
const preRollMs = 300;
/** Sound kept of the silence at the end. */
const postRollMs = 200;
/** A pause of this duration resets the count of voice, so that short sounds do not add up to an utterance. */
const resetAfterMs = 200;

/** Finds utterances in a stream of sound. */
export class TurnDetector {
  readonly #activity: Pick<VoiceActivity, 'isVoice'>;
  readonly #settings: DetectorSettings;
  /** Bytes of an incomplete frame. */
  #partialFrame = new Uint8Array();
  #frames: Int16Array[] = [];
  #voicedMs = 0;
  #quietMs = 0;
  #hasStarted = false;

  constructor(activity: Pick<VoiceActivity, 'isVoice'>, settings: DetectorSettings) {
    this.#activity = activity;
    this.#settings = settings;
  }

  /** Duration of voice in the current utterance. 0 without an utterance. */
  get voicedMs(): number {
    return this.#hasStarted ? this.#voicedMs : 0;
  }

  /** Returns the last `lastMs` of the current utterance. */
  lastPcm(lastMs: number): Uint8Array {
    return joinFrames(this.#frames.slice(-lastMs / frameMs));
  }

  /** @param pcm signed 16 bits, little-endian, one channel, at 16 kHz. */
  push(pcm: Uint8Array): DetectorEvent[] {
    const bytes = this.#partialFrame.length === 0 ? pcm : Buffer.concat([this.#partialFrame, pcm]);
    const whole = bytes.length - (bytes.length % (frameSamples * 2));
    this.#partialFrame = new Uint8Array(bytes.subarray(whole));
    const events: DetectorEvent[] = [];
    for (let at = 0; at < whole; at += frameSamples * 2) {
      // The copy is aligned. The bytes may begin at an odd address.
      const frame = new Int16Array(new Uint8Array(bytes.subarray(at, at + frameSamples * 2)).buffer);
      const event = this.#processFrame(frame);
      if (event !== null) events.push(event);
    }
    return events;
  }

  #processFrame(frame: Int16Array): DetectorEvent | null {
    const isVoice = this.#activity.isVoice(frame);
    this.#frames.push(frame);
    if (isVoice) this.#voicedMs += frameMs;
    this.#quietMs = isVoice ? 0 : this.#quietMs + frameMs;
    if (!this.#hasStarted) {
      if (this.#quietMs >= resetAfterMs) this.#voicedMs = 0;
      if (this.#voicedMs >= Math.max(frameMs, this.#settings.minSpeechMs)) {
        this.#hasStarted = true;
        return { kind: 'began' };
      }
      const kept = (preRollMs + this.#settings.minSpeechMs) / frameMs;
      if (this.#voicedMs === 0 && this.#frames.length > preRollMs / frameMs) this.#frames.shift();
      else if (this.#frames.length > kept * 4) this.#frames.splice(0, this.#frames.length - kept * 4);
      return null;
    }
    const hasEnded = this.#quietMs >= this.#settings.silenceMs;
    if (!hasEnded && this.#frames.length * frameMs < this.#settings.maxUtteranceMs) return null;
    const dropped = Math.max(0, Math.floor((this.#quietMs - postRollMs) / frameMs));
    const pcm = joinFrames(this.#frames.slice(0, this.#frames.length - dropped));
    this.#frames = this.#frames.slice(-preRollMs / frameMs);
    this.#voicedMs = 0;
    this.#hasStarted = false;
    return { kind: 'ended', pcm };
  }
}

function joinFrames(frames: readonly Int16Array[]): Uint8Array {
  return Buffer.concat(frames.map((frame) => new Uint8Array(frame.buffer, frame.byteOffset, frame.byteLength)));
}

/**
 * Whether a complete sound contains a voice.
 * @param pieces PCM at 16 kHz. The event loop runs other work between two pieces.
 */
export async function hasVoice(
  activity: Pick<VoiceActivity, 'isVoice'>,
  pieces: Iterable<Uint8Array>,
  minMs: number,
): Promise<boolean> {
  const detector = new TurnDetector(activity, {
    silenceMs: Number.POSITIVE_INFINITY,
    minSpeechMs: minMs,
    maxUtteranceMs: Number.POSITIVE_INFINITY,
  });
  for (const piece of pieces) {
    if (detector.push(piece).length > 0) return true;
    await new Promise(setImmediate);
  }
  return false;
}
