import { background } from '../../../shared/web/background.ts';
export interface PlayerOptions {
  /** The playback level, from 0 to 1: for each animation frame while audio plays, and 0 at the end. */
  onLevel: (level: number) => void;
  /** The first audio of a turn starts after this delay. */
  onFirstSound: (turnId: string, delayMs: number) => void;
  /** All queued audio was played, or playback was stopped. */
  onIdle: () => void;
}

/** Delay before the first piece, so that the next piece arrives in time. */
const leadSeconds = 0.04;

/** An audio context with a selectable output device, which not all browsers support. */
type RoutableContext = AudioContext & { setSinkId?: (deviceId: string) => Promise<void> };

export const canChooseSpeaker = (): boolean => 'setSinkId' in AudioContext.prototype;

/** Plays pieces of audio one after another without gaps. Playback can be stopped at any time. */
export class Player {
  readonly #options: PlayerOptions;
  readonly #playing = new Set<AudioBufferSourceNode>();
  #context: RoutableContext | null = null;
  #analyser: AnalyserNode | null = null;
  #queueEndsAt = 0;
  /** The turn of the latest audio, with the start and length of each piece in seconds. */
  #latestTurn: { id: string; pieces: { startsAt: number; seconds: number }[] } = { id: '', pieces: [] };
  #speakerId = '';
  #samples = new Float32Array(512);

  constructor(options: PlayerOptions) {
    this.#options = options;
  }

  get isPlaying(): boolean {
    return this.#playing.size > 0;
  }

  /** @param pcm s16le mono. */
  add(turnId: string, pcm: Uint8Array, sampleRate: number): void {
    const count = Math.floor(pcm.byteLength / 2);
    if (count === 0) return;
    const { context, analyser } = this.#prepare(sampleRate);
    const buffer = context.createBuffer(1, count, sampleRate);
    const samples = buffer.getChannelData(0);
    const view = new DataView(pcm.buffer, pcm.byteOffset, count * 2);
    for (let at = 0; at < count; at += 1) samples[at] = view.getInt16(at * 2, true) / 0x8000;
    const source = new AudioBufferSourceNode(context, { buffer });
    source.connect(analyser);
    const wasIdle = !this.isPlaying;
    const startsAt = wasIdle
      ? context.currentTime + leadSeconds
      : Math.max(this.#queueEndsAt, context.currentTime + leadSeconds / 4);
    source.start(startsAt);
    this.#queueEndsAt = startsAt + buffer.duration;
    this.#playing.add(source);
    source.addEventListener('ended', () => this.#onSourceEnded(source));
    if (wasIdle) this.#reportLevel();
    const isFirst = this.#latestTurn.id !== turnId;
    if (isFirst) this.#latestTurn = { id: turnId, pieces: [] };
    this.#latestTurn.pieces.push({ startsAt, seconds: buffer.duration });
    if (isFirst) this.#options.onFirstSound(turnId, (startsAt - context.currentTime) * 1000);
  }

  /** The turn that is playing and the milliseconds of it played so far; null when nothing plays. */
  get nowPlaying(): { turnId: string; playedMs: number } | null {
    const context = this.#context;
    if (!this.isPlaying || context === null) return null;
    const played = this.#latestTurn.pieces.map(({ startsAt, seconds }) =>
      Math.min(seconds, Math.max(0, context.currentTime - startsAt)),
    );
    return {
      turnId: this.#latestTurn.id,
      playedMs: Math.round(played.reduce((sum, seconds) => sum + seconds, 0) * 1000),
    };
  }

  /** Stops playback and discards the queued audio. */
  stop(): void {
    // Disconnecting the output takes effect sooner than stopping each piece.
    this.#analyser?.disconnect();
    this.#analyser = null;
    const playing = [...this.#playing];
    this.#playing.clear();
    for (const source of playing) source.stop();
    if (playing.length > 0) this.#onStopped();
  }

  /** @param deviceId empty for the system default. */
  async setSpeaker(deviceId: string): Promise<void> {
    this.#speakerId = deviceId;
    await this.#context?.setSinkId?.(deviceId);
  }

  #prepare(sampleRate: number): { context: AudioContext; analyser: AnalyserNode } {
    // With a context at the sample rate of the audio, the browser resamples the whole stream, without seams between
    // pieces.
    if (this.#context?.sampleRate !== sampleRate && !this.isPlaying) {
      if (this.#context !== null) background(this.#context.close());
      this.#analyser = null;
      this.#context = new AudioContext({ sampleRate, latencyHint: 'interactive' });
      if (this.#speakerId !== '') this.#context.setSinkId?.(this.#speakerId).catch(() => undefined);
    }
    const context = this.#context as AudioContext;
    if (context.state !== 'running') background(context.resume());
    if (this.#analyser === null) {
      this.#analyser = new AnalyserNode(context, { fftSize: this.#samples.length });
      this.#analyser.connect(context.destination);
    }
    return { context, analyser: this.#analyser };
  }

  #onSourceEnded(source: AudioBufferSourceNode): void {
    if (this.#playing.delete(source) && !this.isPlaying) this.#onStopped();
  }

  #onStopped(): void {
    this.#options.onLevel(0);
    this.#options.onIdle();
  }

  #reportLevel(): void {
    requestAnimationFrame(() => {
      if (!this.isPlaying || this.#analyser === null) return;
      this.#analyser.getFloatTimeDomainData(this.#samples);
      this.#options.onLevel(
        Math.sqrt(this.#samples.reduce((sum, sample) => sum + sample * sample, 0) / this.#samples.length),
      );
      this.#reportLevel();
    });
  }
}
