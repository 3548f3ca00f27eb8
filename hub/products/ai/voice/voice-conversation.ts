import type { Fvad } from '@echogarden/fvad-wasm';
import {
  defaultVoiceConfig,
  maxWaitingTurns,
  voiceCloseCodes,
  voiceRequestFrame,
} from '../../../../shared/contract/ai/voice.ts';
import type { VoiceConfig, VoiceConfigChange } from '../../../../shared/contract/ai/voice.ts';
import { AppError } from '../../../../shared/errors.ts';
import { parsePart } from '../../../platform/http/routing/errors.ts';
import { parseJsonText } from '../../../platform/http/routing/json-text.ts';
import { newId } from '../../../platform/ids.ts';
import { SpeechListener } from './listener.ts';
import type { ListenerHost } from './listener.ts';
import { decodeBase64, containsVoice, durationSeconds, SoundStream, readWholeSound } from './sound.ts';
import { UtteranceOrder } from './utterance-order.ts';
import { VoiceActivity } from './voice-activity.ts';
import { VoiceContext } from './voice-context.ts';
import { VoiceLimits } from './voice-limits.ts';
import { VoiceTurn } from './voice-turn.ts';
import type { PendingTurn, TurnInput, TurnDependencies, TurnEnd, TurnSession } from './voice-turn.ts';

export interface ConversationOptions extends Pick<TurnSession, 'tenantId' | 'connection' | 'authorize'> {
  turns: TurnDependencies;
  fvad: Fvad;
  /** Called when a turn ends. */
  onTurn: (end: TurnEnd) => void;
}

interface Stream {
  activity: VoiceActivity;
  listener: SpeechListener;
  sound: SoundStream;
}

/** The conversation on one connection. It answers one turn at a time, in the order of the utterances. */
export class VoiceConversation {
  readonly #options: ConversationOptions;
  readonly #context = new VoiceContext();
  readonly #limits: VoiceLimits;
  readonly #closed = new AbortController();
  #config: VoiceConfig = defaultVoiceConfig;
  #stream: Stream | null = null;
  #waiting: PendingTurn[] = [];
  #current: VoiceTurn | null = null;
  /** The previous turn, whose speech may still be played. */
  #last: VoiceTurn | null = null;
  #isAnswering = false;
  #isStopping = false;
  /** Number of interruptions of all turns. */
  #interruptions = 0;
  readonly #order = new UtteranceOrder();

  constructor(options: ConversationOptions) {
    this.#options = options;
    this.#limits = new VoiceLimits(options.turns.clock);
  }

  onMessage(bytes: Buffer, isBinary: boolean): void {
    const { connection } = this.#options;
    if (!connection.isOpen) return;
    if (!this.#limits.acceptFrame(bytes.length)) return this.#closeOverLimit();
    if (isBinary) return connection.close(voiceCloseCodes.invalidFrame, 'frames must be text');
    let message: unknown;
    try {
      message = parseJsonText(bytes.toString());
    } catch {
      return connection.close(voiceCloseCodes.invalidFrame, 'frames must be JSON objects');
    }
    try {
      this.#handle(message);
    } catch (error) {
      connection.fail(error);
    }
  }

  /** Ends the conversation immediately, because the connection is closed. */
  abort(): void {
    this.#closed.abort();
    this.#waiting = [];
    this.#current?.abandon();
    this.#endStream();
  }

  /** Starts no further turn and closes the connection when the current turn has ended. */
  stop(): void {
    this.#isStopping = true;
    for (const pending of this.#waiting.splice(0)) this.#cancel(pending);
    this.#endStream();
    if (!this.#isAnswering) this.#closeForShutdown();
  }

  #handle(message: unknown): void {
    const frame = parsePart('frame', voiceRequestFrame, message);
    switch (frame.type) {
      case 'config':
        return this.#configure(frame.data);
      case 'interrupt':
        if (frame.data?.turnId === undefined) this.#order.dismiss();
        return this.#interrupt(frame.data?.turnId, frame.data?.playedMs);
      case 'text':
        if (frame.data.trim() === '')
          throw new AppError('validation_failed', 'frame.data must contain text; it is blank.');
        return this.#enqueue({ kind: 'typed', text: frame.data }, this.#options.turns.clock.now(), null);
      case 'audio':
        return this.#handleAudio(decodeBase64(frame.data));
    }
  }

  #configure(change: VoiceConfigChange): void {
    this.#config = mergeConfig(this.#config, change);
    // The current utterance is discarded, because it was detected with the old settings.
    if (change.turnDetection !== undefined || change.sampleRate !== undefined) this.#endStream();
    if (typeof change.voice === 'string')
      this.#checkVoice(change.voice).catch((error: unknown) => this.#options.connection.fail(error));
  }

  /** Resets a voice that the hub does not have and sends an error. */
  async #checkVoice(voice: string): Promise<void> {
    const { connection, turns } = this.#options;
    const hasVoice = await turns.speech.textToSpeech
      ?.hasVoice?.(voice, this.#closed.signal)
      // If the check fails, the next turn reports whether the voice exists.
      .catch(() => true);
    if (hasVoice !== false || this.#config.voice !== voice) return;
    this.#config = { ...this.#config, voice: null };
    connection.fail(
      new AppError(
        'voice_unknown',
        'frame.data.voice is not a voice of this hub; send a voice that is valid for TTS_VOICE, or null.',
      ),
    );
  }

  #handleAudio(bytes: Buffer): void {
    const { clock } = this.#options.turns;
    if (this.#config.turnDetection.type === 'none') {
      const speech = readWholeSound(bytes, this.#config.sampleRate);
      if (!this.#limits.acceptSound(durationSeconds(speech))) return this.#closeOverLimit();
      return this.#enqueue({ kind: 'sound', speech }, clock.now(), null);
    }
    if (this.#isStopping) return;
    this.#stream ??= this.#openStream();
    const speech = this.#stream.sound.push(bytes, this.#config.sampleRate);
    if (speech === null) return;
    if (!this.#limits.acceptSound(durationSeconds(speech))) return this.#closeOverLimit();
    this.#stream.listener.push(speech);
  }

  #closeOverLimit(): void {
    this.#options.connection.close(voiceCloseCodes.tooMany, 'too many frames or too much sound');
  }

  #openStream(): Stream {
    const activity = new VoiceActivity(this.#options.fvad);
    return { activity, listener: new SpeechListener(this.#host(), activity), sound: new SoundStream() };
  }

  #endStream(): void {
    if (this.#stream === null) return;
    const { activity, listener } = this.#stream;
    this.#stream = null;
    const { turnId } = listener;
    listener.discard();
    activity[Symbol.dispose]();
    if (turnId !== null) this.#cancel({ id: turnId, inputAt: this.#options.turns.clock.now() });
  }

  /** Returns the operations for a listener, with the current configuration. */
  #host(): ListenerHost {
    const { turns, connection, authorize, onTurn } = this.#options;
    const config = this.#config;
    const onBackChannel = () => onTurn({ outcome: 'back_channel', latencyMs: {} });
    const enqueue = (input: TurnInput, inputAt: number, turnId: string | null, position?: number) => {
      try {
        this.#enqueue(input, inputAt, turnId, position);
      } catch (error) {
        connection.fail(error, turnId ?? undefined);
        if (turnId !== null) this.#cancel({ id: turnId, inputAt });
      }
    };
    return {
      clock: turns.clock,
      speechToText: turns.speech.speechToText,
      config,
      closed: this.#closed.signal,
      authorize,
      isSpeaking: () => this.#isAnswering || this.#last?.isSpeaking === true,
      interruptSpeech: () => this.#interrupt(undefined, undefined),
      announceTurn: () => {
        const turnId = newId();
        this.#order.open(turnId);
        connection.send({ type: 'text', turnId, role: 'user', data: '', final: false });
        return turnId;
      },
      sendPartial: (turnId, data) => connection.send({ type: 'text', turnId, role: 'user', data, final: false }),
      enqueue,
      reservePosition: () => {
        const position = this.#order.nextPosition();
        return (text, inputAt) => {
          this.#endTurns((turn) => turn.position < position, undefined);
          // The aside is only answered if no utterance follows it. A later utterance is answered instead.
          const answer = () => enqueue({ kind: 'transcribed', text }, inputAt, null, position);
          this.#order.defer({ position, answer, dismiss: onBackChannel });
        };
      },
      onBackChannel,
      fail: (error) => connection.fail(error),
    };
  }

  /**
   * @param position A reserved position, or the next one.
   * @throws AppError `rate_limited`, `unavailable`.
   */
  #enqueue(input: TurnInput, inputAt: number, turnId: string | null, position = this.#order.nextPosition()): void {
    if (this.#isStopping)
      throw new AppError('unavailable', 'The hub stops; come back shortly.', { retryAfterSeconds: 1 });
    if (this.#waiting.length >= maxWaitingTurns)
      throw new AppError(
        'rate_limited',
        `${maxWaitingTurns} utterances wait for an answer; interrupt, or wait until one is answered.`,
        { retryAfterSeconds: 5 },
      );
    const id = turnId ?? newId();
    this.#waiting.push({ id, position, input, inputAt, isAnnounced: turnId !== null });
    if (input.kind === 'sound') this.#order.open(id, position);
    else this.#order.markSpeech(position);
    if (!this.#isAnswering) this.#answer().catch((error: unknown) => this.#options.connection.fail(error));
  }

  async #answer(): Promise<void> {
    this.#isAnswering = true;
    for (let pending = this.#waiting.shift(); pending !== undefined; pending = this.#waiting.shift())
      await this.#answerOne(pending)
        .catch((error: unknown) => this.#options.connection.fail(error, pending.id))
        .finally(() => this.#order.settle(pending.id, this.#last?.id === pending.id && this.#last.hasText));
    this.#isAnswering = false;
    if (this.#isStopping) this.#closeForShutdown();
  }

  async #answerOne(pending: PendingTurn): Promise<void> {
    const { fvad, connection, turns, tenantId, authorize, onTurn } = this.#options;
    const interruptions = this.#interruptions;
    const { input, isAnnounced } = pending;
    // The listener has already checked the sound of an announced turn.
    const isVoice = input.kind !== 'sound' || isAnnounced || (await containsVoice(fvad, input.speech));
    if (this.#closed.signal.aborted) return;
    if (interruptions !== this.#interruptions) return this.#cancel(pending);
    if (!isVoice) return this.#reportNothingHeard();
    const turn = new VoiceTurn(
      turns,
      { tenantId, connection, authorize, context: this.#context, config: this.#config },
      pending,
    );
    this.#current = turn;
    const outcome = await turn.run();
    this.#current = null;
    this.#last = turn;
    if (outcome === 'nothing_heard' && !isAnnounced) this.#reportNothingHeard();
    else onTurn({ outcome, latencyMs: turn.latencyMs });
  }

  /** Reports a sound without voice, because its sender waits for a result. */
  #reportNothingHeard(): void {
    const { connection, onTurn } = this.#options;
    connection.fail(new AppError('nothing_heard', 'No speech was found in this sound; speak closer or louder.'));
    onTurn({ outcome: 'nothing_heard', latencyMs: {} });
  }

  #interrupt(turnId: string | undefined, playedMs: number | undefined): void {
    if (turnId === undefined) this.#interruptions += 1;
    this.#endTurns(({ id }) => turnId === undefined || id === turnId, playedMs);
  }

  #endTurns(matches: (turn: Pick<PendingTurn, 'id' | 'position'>) => boolean, playedMs: number | undefined): void {
    const audible = this.#current ?? this.#last;
    if (audible !== null && matches(audible)) audible.interrupt(playedMs);
    const cancelled = this.#waiting.filter(matches);
    this.#waiting = this.#waiting.filter((pending) => !cancelled.includes(pending));
    for (const pending of cancelled) this.#cancel(pending);
  }

  /** Ends a turn that has not started. */
  #cancel({ id, inputAt }: Pick<PendingTurn, 'id' | 'inputAt'>): void {
    const { connection, turns } = this.#options;
    const total = Math.max(0, Math.round(turns.clock.now() - inputAt));
    connection.send({ type: 'done', turnId: id, done: true, latencyMs: { total }, interrupted: true });
    this.#order.settle(id, false);
  }

  #closeForShutdown(): void {
    this.#options.connection.close(1001, 'the hub stops');
  }
}

const withoutUndefined = <Part extends object>(part: Part) =>
  Object.fromEntries(Object.entries(part).filter(([, value]) => value !== undefined)) as {
    [Key in keyof Part]: Exclude<Part[Key], undefined>;
  };

/** Applies a change. Fields that the change leaves out keep their values. */
const mergeConfig = (config: VoiceConfig, { turnDetection = {}, ...change }: VoiceConfigChange): VoiceConfig => ({
  ...config,
  ...withoutUndefined(change),
  turnDetection: { ...config.turnDetection, ...withoutUndefined(turnDetection) },
});
