import { frameMs, frameSamples } from './voice-activity.ts';
import type { VoiceActivity } from './voice-activity.ts';

export interface DetectorSettings {
  /** How long nothing is said at the end of an utterance. */
  silenceMs: number;
  /** How much of a voice an utterance has at least. */
  minSpeechMs: number;
  /** When one that goes on is taken as it is. */
  maxUtteranceMs: number;
}

/** `began`: somebody speaks, for certain. `ended`: what they said, signed 16 bits at 16 kHz. */
export type DetectorEvent = { kind: 'began' } | { kind: 'ended'; pcm: Uint8Array };

/** What is kept of the time before a voice is heard: words begin softly. */
const preRollMs = 300;
/** What is kept of the silence at the end. */
const postRollMs = 200;
/** Sounds too short to be a word do not add up over a pause of so long. */
const resetAfterMs = 200;

/** Finds utterances in sound that comes as one stream. */
export class TurnDetector {
  readonly #activity: Pick<VoiceActivity, 'isVoice'>;
  readonly #settings: DetectorSettings;
  /** Half a frame that waits for its rest. */
  #partialFrame = new Uint8Array();
  #frames: Int16Array[] = [];
  #voicedMs = 0;
  #quietMs = 0;
  #hasBegun = false;

  constructor(activity: Pick<VoiceActivity, 'isVoice'>, settings: DetectorSettings) {
    this.#activity = activity;
    this.#settings = settings;
  }

  /** How much of a voice there is in the utterance under way; 0 without one. */
  get voicedMs(): number {
    return this.#hasBegun ? this.#voicedMs : 0;
  }

  /** The end of the utterance under way, as far as it came. */
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
      // A copy of its own: the bytes may lie at an odd place.
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
    if (!this.#hasBegun) {
      if (this.#quietMs >= resetAfterMs) this.#voicedMs = 0;
      if (this.#voicedMs >= Math.max(frameMs, this.#settings.minSpeechMs)) {
        this.#hasBegun = true;
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
    this.#hasBegun = false;
    return { kind: 'ended', pcm };
  }
}

function joinFrames(frames: readonly Int16Array[]): Uint8Array {
  return Buffer.concat(frames.map((frame) => new Uint8Array(frame.buffer, frame.byteOffset, frame.byteLength)));
}

/** Whether there is a voice in a sound that is there as a whole. @param pcm at 16 kHz, in pieces, so that others have their turn between them. */
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
