import { background } from '../../../shared/web/background.ts';
/** Ringing tones of unanswered calls. `everySeconds` is the period of one tone and one pause. */
const sounds = {
  incoming: { tones: [440, 554], onSeconds: 1, everySeconds: 3, loudness: 0.12 },
  outgoing: { tones: [425], onSeconds: 1, everySeconds: 4, loudness: 0.05 },
} as const;

/** Plays the ringing tone. Browsers play no sound until the user has clicked or pressed a key on the page. */
export class Ringer {
  #context: AudioContext | null = null;
  #timer: ReturnType<typeof setInterval> | undefined;
  #speakerId = '';

  ring(kind: keyof typeof sounds): void {
    this.stop();
    const context = new AudioContext();
    this.#context = context;
    background(this.setSpeaker(this.#speakerId));
    const { everySeconds } = sounds[kind];
    playTone(context, kind);
    this.#timer = setInterval(() => playTone(context, kind), everySeconds * 1000);
  }

  stop(): void {
    clearInterval(this.#timer);
    if (this.#context !== null) background(this.#context.close());
    this.#context = null;
  }

  async setSpeaker(speakerId: string): Promise<void> {
    this.#speakerId = speakerId;
    const context = this.#context as (AudioContext & { setSinkId?: (id: string) => Promise<void> }) | null;
    await context?.setSinkId?.(speakerId).catch(() => undefined);
  }
}

function playTone(context: AudioContext, kind: keyof typeof sounds): void {
  const { tones, onSeconds, loudness } = sounds[kind];
  const from = context.currentTime + 0.05;
  const gain = context.createGain();
  gain.gain.setValueAtTime(0, from);
  gain.gain.linearRampToValueAtTime(loudness, from + 0.05);
  gain.gain.setValueAtTime(loudness, from + onSeconds - 0.05);
  gain.gain.linearRampToValueAtTime(0, from + onSeconds);
  gain.connect(context.destination);
  for (const frequency of tones) {
    const tone = new OscillatorNode(context, { frequency });
    tone.connect(gain);
    tone.start(from);
    tone.stop(from + onSeconds);
  }
}
