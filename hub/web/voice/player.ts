export interface PlayerOptions {
  /** How loud it is now, from 0 to 1; told for each picture of the screen while it plays, and 0 at its end. */
  onLevel: (level: number) => void;
  /** The first sound of a turn begins in so long. */
  onFirstSound: (turnId: string, delayMs: number) => void;
  /** All that came was played, or it fell silent. */
  onIdle: () => void;
}

/** Until what comes first begins, so that what follows it is there in time, in seconds. */
const leadSeconds = 0.04;

/** Contexts that can be sent to another device; not all browsers know it yet. */
type RoutableContext = AudioContext & { setSinkId?: (deviceId: string) => Promise<void> };

export const canChooseSpeaker = (): boolean => 'setSinkId' in AudioContext.prototype;

/** Plays pieces of sound one right after the other, and falls silent at once. */
export class Player {
  readonly #options: PlayerOptions;
  readonly #playing = new Set<AudioBufferSourceNode>();
  #context: RoutableContext | null = null;
  #analyser: AnalyserNode | null = null;
  #queueEndsAt = 0;
  /** Whose sound came last, and when its pieces begin and how long they are, in seconds. */
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

  /** Of which turn something is heard now, and how much of it was, in milliseconds; null for silence. */
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

  /** Plays nothing more of what came. */
  stop(): void {
    // Taking the way to the loudspeaker away is heard sooner than stopping each piece.
    this.#analyser?.disconnect();
    this.#analyser = null;
    const playing = [...this.#playing];
    this.#playing.clear();
    for (const source of playing) source.stop();
    if (playing.length > 0) this.#onStopped();
  }

  /** @param deviceId empty for that of the system. */
  async setSpeaker(deviceId: string): Promise<void> {
    this.#speakerId = deviceId;
    await this.#context?.setSinkId?.(deviceId);
  }

  #prepare(sampleRate: number): { context: AudioContext; analyser: AnalyserNode } {
    // A context of the rate of the sound turns all of it into that of the device as one, without seams between pieces.
    if (this.#context?.sampleRate !== sampleRate && !this.isPlaying) {
      void this.#context?.close();
      this.#analyser = null;
      this.#context = new AudioContext({ sampleRate, latencyHint: 'interactive' });
      if (this.#speakerId !== '') void this.#context.setSinkId?.(this.#speakerId).catch(() => undefined);
    }
    const context = this.#context as AudioContext;
    if (context.state !== 'running') void context.resume();
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
