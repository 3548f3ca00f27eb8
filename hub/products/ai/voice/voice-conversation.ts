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
import { changedConfig } from './config.ts';
import { Listener } from './listener.ts';
import type { ListenerHost } from './listener.ts';
import { SaidOrder } from './said-order.ts';
import { bytesOf, isVoiced, secondsOf, SoundStream, wholeSound } from './sound.ts';
import { VoiceActivity } from './voice-activity.ts';
import { VoiceContext } from './voice-context.ts';
import { VoiceLimits } from './voice-limits.ts';
import { VoiceTurn } from './voice-turn.ts';
import type { PendingTurn, Said, TurnDependencies, TurnEnd, TurnSituation } from './voice-turn.ts';

export interface ConversationOptions extends Pick<TurnSituation, 'tenantId' | 'connection' | 'confirm'> {
  turns: TurnDependencies;
  fvad: Fvad;
  /** Told how each turn ended. */
  onTurn: (end: TurnEnd) => void;
}

interface Stream {
  activity: VoiceActivity;
  listener: Listener;
  sound: SoundStream;
}

/** What goes back and forth on one connection: one turn at a time, in the order in which it was said. */
export class VoiceConversation {
  readonly #options: ConversationOptions;
  readonly #context = new VoiceContext();
  readonly #limits: VoiceLimits;
  readonly #gone = new AbortController();
  #config: VoiceConfig = defaultVoiceConfig;
  #stream: Stream | null = null;
  #waiting: PendingTurn[] = [];
  #current: VoiceTurn | null = null;
  /** The one before, which may still be played. */
  #last: VoiceTurn | null = null;
  #isAnswering = false;
  #isStopping = false;
  /** Counts interruptions. */
  #silenced = 0;
  readonly #order = new SaidOrder();

  constructor(options: ConversationOptions) {
    this.#options = options;
    this.#limits = new VoiceLimits(options.turns.clock);
  }

  hear(bytes: Buffer, isBinary: boolean): void {
    const { connection } = this.#options;
    if (!connection.isOpen) return;
    if (!this.#limits.take(bytes.length)) return this.#refuse();
    if (isBinary) return connection.close(voiceCloseCodes.invalidFrame, 'frames are texts');
    let given: unknown;
    try {
      given = parseJsonText(bytes.toString());
    } catch {
      return connection.close(voiceCloseCodes.invalidFrame, 'frames are JSON objects of the protocol');
    }
    try {
      this.#take(given);
    } catch (error) {
      connection.fail(error);
    }
  }

  /** Ends all of it: nobody is there any more. */
  leave(): void {
    this.#gone.abort();
    this.#waiting = [];
    this.#current?.abandon();
    this.#endStream();
  }

  /** Begins no turn any more, and closes once the one under way has ended. */
  stop(): void {
    this.#isStopping = true;
    for (const pending of this.#waiting.splice(0)) this.#withdraw(pending);
    this.#endStream();
    if (!this.#isAnswering) this.#goAway();
  }

  #take(given: unknown): void {
    const frame = parsePart('frame', voiceRequestFrame, given);
    switch (frame.type) {
      case 'config':
        return this.#configure(frame.data);
      case 'interrupt':
        if (frame.data?.turnId === undefined) this.#order.pass();
        return this.#interrupt(frame.data?.turnId, frame.data?.playedMs);
      case 'text':
        if (frame.data.trim() === '')
          throw new AppError('validation_failed', 'frame.data must say something; it is blank.');
        return this.#enqueue({ kind: 'typed', text: frame.data }, this.#options.turns.clock.now(), null);
      case 'audio':
        return this.#hearSound(bytesOf(frame.data));
    }
  }

  #configure(change: VoiceConfigChange): void {
    this.#config = changedConfig(this.#config, change);
    // What is being said is heard anew: it may be said otherwise.
    if (change.turnDetection !== undefined || change.sampleRate !== undefined) this.#endStream();
    if (typeof change.voice === 'string') void this.#checkVoice(change.voice);
  }

  /** Takes a voice back that the hub does not have, and says so. */
  async #checkVoice(voice: string): Promise<void> {
    const { connection, turns } = this.#options;
    const isThere = await turns.speech.textToSpeech
      ?.hasVoice?.(voice, this.#gone.signal)
      // Whether there is any voice at all the next turn tells.
      .catch(() => true);
    if (isThere !== false || this.#config.voice !== voice) return;
    this.#config = { ...this.#config, voice: null };
    connection.fail(
      new AppError(
        'voice_unknown',
        'frame.data.voice is none of the voices that this hub has; send one that TTS_VOICE could name, or null.',
      ),
    );
  }

  #hearSound(bytes: Buffer): void {
    const { clock } = this.#options.turns;
    if (this.#config.turnDetection.type === 'none') {
      const speech = wholeSound(bytes, this.#config.sampleRate);
      if (!this.#limits.takeSound(secondsOf(speech))) return this.#refuse();
      return this.#enqueue({ kind: 'sound', speech }, clock.now(), null);
    }
    if (this.#isStopping) return;
    this.#stream ??= this.#listen();
    const speech = this.#stream.sound.push(bytes, this.#config.sampleRate);
    if (speech === null) return;
    if (!this.#limits.takeSound(secondsOf(speech))) return this.#refuse();
    this.#stream.listener.hear(speech);
  }

  #refuse(): void {
    this.#options.connection.close(voiceCloseCodes.tooMany, 'more than speech needs');
  }

  #listen(): Stream {
    const activity = new VoiceActivity(this.#options.fvad);
    return { activity, listener: new Listener(this.#host(), activity), sound: new SoundStream() };
  }

  #endStream(): void {
    if (this.#stream === null) return;
    const { activity, listener } = this.#stream;
    this.#stream = null;
    const { turnId } = listener;
    listener.end();
    activity[Symbol.dispose]();
    if (turnId !== null) this.#withdraw({ id: turnId, saidAt: this.#options.turns.clock.now() });
  }

  /** What a listener needs to know and to do. */
  #host(): ListenerHost {
    const { turns, connection, confirm, onTurn } = this.#options;
    const config = this.#config;
    const heardInPassing = () => onTurn({ outcome: 'back_channel', latencyMs: {} });
    const take = (said: Said, saidAt: number, turnId: string | null, place?: number) => {
      try {
        this.#enqueue(said, saidAt, turnId, place);
      } catch (error) {
        connection.fail(error, turnId ?? undefined);
        if (turnId !== null) this.#withdraw({ id: turnId, saidAt });
      }
    };
    return {
      clock: turns.clock,
      speechToText: turns.speech.speechToText,
      config,
      gone: this.#gone.signal,
      confirm,
      isSpeaking: () => this.#isAnswering || this.#last?.isHeard === true,
      silence: () => this.#interrupt(undefined, undefined),
      announce: () => {
        const turnId = newId();
        this.#order.begin(turnId);
        connection.send({ type: 'text', turnId, role: 'user', data: '', final: false });
        return turnId;
      },
      tell: (turnId, data) => connection.send({ type: 'text', turnId, role: 'user', data, final: false }),
      take,
      keepPlace: () => {
        const place = this.#order.next();
        return (text, saidAt) => {
          this.#endTurns((turn) => turn.place < place, undefined);
          // Who said more since then is answered to that.
          const answer = () => take({ kind: 'heard', text }, saidAt, null, place);
          this.#order.hold({ place, answer, pass: heardInPassing });
        };
      },
      heardInPassing,
      fail: (error) => connection.fail(error),
    };
  }

  /**
   * @param place that was kept for it.
   * @throws AppError `rate_limited`, `unavailable`.
   */
  #enqueue(said: Said, saidAt: number, turnId: string | null, place = this.#order.next()): void {
    if (this.#isStopping)
      throw new AppError('unavailable', 'The hub stops; come back shortly.', { retryAfterSeconds: 1 });
    if (this.#waiting.length >= maxWaitingTurns)
      throw new AppError(
        'rate_limited',
        `${maxWaitingTurns} utterances wait for their turn; interrupt, or wait until one is answered.`,
        { retryAfterSeconds: 5 },
      );
    const id = turnId ?? newId();
    this.#waiting.push({ id, place, said, saidAt, isAnnounced: turnId !== null });
    if (said.kind === 'sound') this.#order.begin(id, place);
    else this.#order.understand(place);
    if (!this.#isAnswering) void this.#answer();
  }

  async #answer(): Promise<void> {
    this.#isAnswering = true;
    for (let pending = this.#waiting.shift(); pending !== undefined; pending = this.#waiting.shift())
      await this.#answerOne(pending)
        .catch((error: unknown) => this.#options.connection.fail(error, pending.id))
        .finally(() => this.#order.settle(pending.id, this.#last?.id === pending.id && this.#last.isUnderstood));
    this.#isAnswering = false;
    if (this.#isStopping) this.#goAway();
  }

  async #answerOne(pending: PendingTurn): Promise<void> {
    const { fvad, connection, turns, tenantId, confirm, onTurn } = this.#options;
    const silenced = this.#silenced;
    const { said, isAnnounced } = pending;
    // Of a stream it was listened to already.
    const isVoice = said.kind !== 'sound' || isAnnounced || (await isVoiced(fvad, said.speech));
    if (this.#gone.signal.aborted) return;
    if (silenced !== this.#silenced) return this.#withdraw(pending);
    if (!isVoice) return this.#hearNothing();
    const turn = new VoiceTurn(
      turns,
      { tenantId, connection, confirm, context: this.#context, config: this.#config },
      pending,
    );
    this.#current = turn;
    const outcome = await turn.run();
    this.#current = null;
    this.#last = turn;
    if (outcome === 'nothing_heard' && !isAnnounced) this.#hearNothing();
    else onTurn({ outcome, latencyMs: turn.latencyMs });
  }

  /** Whoever sent it waits for an answer. */
  #hearNothing(): void {
    const { connection, onTurn } = this.#options;
    connection.fail(new AppError('nothing_heard', 'Nothing was said in this sound; say it again, nearer or louder.'));
    onTurn({ outcome: 'nothing_heard', latencyMs: {} });
  }

  #interrupt(turnId: string | undefined, playedMs: number | undefined): void {
    if (turnId === undefined) this.#silenced += 1;
    this.#endTurns(({ id }) => turnId === undefined || id === turnId, playedMs);
  }

  #endTurns(isMeant: (turn: Pick<PendingTurn, 'id' | 'place'>) => boolean, playedMs: number | undefined): void {
    const heard = this.#current ?? this.#last;
    if (heard !== null && isMeant(heard)) heard.interrupt(playedMs);
    const withdrawn = this.#waiting.filter(isMeant);
    this.#waiting = this.#waiting.filter((pending) => !withdrawn.includes(pending));
    for (const pending of withdrawn) this.#withdraw(pending);
  }

  /** Ends a turn before it began. */
  #withdraw({ id, saidAt }: Pick<PendingTurn, 'id' | 'saidAt'>): void {
    const { connection, turns } = this.#options;
    const total = Math.max(0, Math.round(turns.clock.now() - saidAt));
    connection.send({ type: 'done', turnId: id, done: true, latencyMs: { total }, interrupted: true });
    this.#order.settle(id, false);
  }

  #goAway(): void {
    this.#options.connection.close(1001, 'the hub stops');
  }
}
