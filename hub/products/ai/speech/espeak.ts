import { SpeechFailed } from './failure.ts';
import { withRetry } from './retry.ts';
import type { SpeechOptions } from './retry.ts';
import { hasSpeakableText } from './sentences.ts';
import { SoundReader, UnreadableSound } from './sound.ts';
import type { SpeakRequest, Speech, TextToSpeech } from './speech.ts';
import { ProgramFailed, runProgram } from './supervised-program.ts';

const stage = 'text_to_speech';
const budgetMs = 30_000;
const maxSoundBytes = 32 * 1024 * 1024;
const maxTextLength = 10_000;
const maxListBytes = 256 * 1024;
/** Programs that run concurrently. Further calls wait. */
const maxConcurrentPrograms = 8;
/** Required by `SoundReader` for PCM without a header. espeak-ng always writes a WAV header. */
const rawSampleRate = 22_050;

/** The most common language of each script. Scripts with several common languages are left out. */
const languageOfScript: readonly (readonly [RegExp, string])[] = [
  [/[\p{Script=Hiragana}\p{Script=Katakana}]/u, 'ja'],
  [/\p{Script=Hangul}/u, 'ko'],
  [/\p{Script=Han}/u, 'cmn'],
  [/\p{Script=Cyrillic}/u, 'ru'],
  [/\p{Script=Greek}/u, 'el'],
  [/\p{Script=Hebrew}/u, 'he'],
  [/\p{Script=Arabic}/u, 'ar'],
  [/\p{Script=Devanagari}/u, 'hi'],
  [/\p{Script=Bengali}/u, 'bn'],
  [/\p{Script=Tamil}/u, 'ta'],
  [/\p{Script=Thai}/u, 'th'],
];
const languageAliases: Readonly<Record<string, string>> = { zh: 'cmn', no: 'nb', iw: 'he', in: 'id', tl: 'fil' };

/** Voice names that are safe on a command line. A variant follows after `+`. */
const voiceName = /^[A-Za-z0-9][A-Za-z0-9_-]{0,39}(?:\+[A-Za-z0-9_-]{1,20})?$/;

/**
 * Text-to-speech by espeak-ng on this machine, without a key or a network.
 * @param voice The default voice of the hub. Null selects a voice by language.
 */
export function createEspeak(
  { program = 'espeak-ng', voice: hubVoice }: { program?: string; voice: string | null },
  options: SpeechOptions,
): TextToSpeech {
  const slots = new ProgramSlots(maxConcurrentPrograms);
  let voiceList: Promise<ReadonlySet<string>> | null = null;

  /** Lists the voices once for all callers, even if a caller aborts. After a failure the next call lists them again. */
  const voices = () => {
    if (voiceList !== null) return voiceList;
    const pending = listVoices(program);
    voiceList = pending;
    // Callers receive the error through `pending`. This handler also covers a failure after all callers aborted.
    pending.catch(() => {
      voiceList = null;
    });
    return pending;
  };

  async function* speakOnce(request: SpeakRequest, leftMs: number): AsyncGenerator<Speech> {
    const deadline = new AbortController();
    const signal = AbortSignal.any([request.signal, deadline.signal]);
    using _timer = options.clock.after(leftMs, () => deadline.abort());
    try {
      using _slot = await slots.acquire(signal);
      const voice = chooseVoice(await raceAbort(voices(), signal), request, hubVoice);
      const reader = new SoundReader(rawSampleRate);
      let hasSound = false;
      const args = ['--stdin', '--stdout', '-b', '1', '-v', voice];
      for await (const chunk of runProgram(program, {
        args,
        input: stripCommands(request.text),
        signal,
        maxOutputBytes: maxSoundBytes,
      })) {
        const part = reader.push(chunk);
        if (part === null) continue;
        hasSound = true;
        yield part;
      }
      const rest = reader.end();
      if (rest !== null) yield rest;
      else if (!hasSound) throw new SpeechFailed(stage, 'empty', `${program} made no sound.`);
    } catch (error) {
      request.signal.throwIfAborted();
      if (deadline.signal.aborted) throw new SpeechFailed(stage, 'timeout', `${program} did not finish in time.`);
      if (error instanceof UnreadableSound)
        throw new SpeechFailed(stage, 'rubbish', `${program} gave no usable sound: it ${error.message}.`);
      if (error instanceof ProgramFailed)
        throw new SpeechFailed(stage, error.isMissing ? 'program_missing' : 'program_failed', `${error.message}.`);
      throw error;
    }
  }

  return {
    hasVoice: async (name, signal) => hasVoiceNamed(await raceAbort(voices(), signal), name),
    async *speak(request) {
      const { text, signal } = request;
      signal.throwIfAborted();
      if (!hasSpeakableText(text)) return;
      yield* withRetry({ ...options, stage, budgetMs, signal }, (leftMs) => speakOnce(request, leftMs));
    },
  };
}

/** Removes control characters and splits `[[`, because espeak-ng would interpret them as commands and phonemes. */
function stripCommands(text: string): string {
  return text
    .slice(0, maxTextLength)
    .replaceAll(/[^\P{Cc}\n]/gu, ' ')
    .replaceAll('[[', '[ [');
}

/** Lists the names of languages and voices, in lower case. */
async function listVoices(program: string): Promise<ReadonlySet<string>> {
  const chunks: Buffer[] = [];
  const signal = AbortSignal.timeout(budgetMs);
  const run = { args: ['--voices'], input: '', signal, maxOutputBytes: maxListBytes };
  try {
    for await (const chunk of runProgram(program, run)) chunks.push(chunk);
  } catch (error) {
    if (signal.aborted)
      throw new ProgramFailed(`${program} did not list its voices within ${budgetMs / 1000} s`, false);
    throw error;
  }
  const lines = Buffer.concat(chunks).toString('utf8').split('\n').slice(1);
  return new Set(
    lines.flatMap((line) => {
      const [, language, , name, file] = line.trim().split(/\s+/);
      return [language, name, file?.split('/').at(-1)].flatMap((word) => word?.toLowerCase() ?? []);
    }),
  );
}

const hasVoiceNamed = (known: ReadonlySet<string>, name: string) =>
  voiceName.test(name) && known.has((name.split('+')[0] ?? '').toLowerCase());

/**
 * @throws SpeechFailed if the requested voice, or the default voice of the hub, does not exist. Another voice in its
 * place would hide the mistake.
 */
function chooseVoice(
  known: ReadonlySet<string>,
  { text, language, voice }: SpeakRequest,
  hubVoice: string | null,
): string {
  const isKnown = (name: string | null | undefined): name is string =>
    typeof name === 'string' && hasVoiceNamed(known, name);
  const requestedVoice = voice ?? hubVoice;
  if (requestedVoice !== null && !isKnown(requestedVoice))
    throw new SpeechFailed(
      stage,
      'voice_unknown',
      `espeak-ng has no voice ${JSON.stringify(requestedVoice)}; ${voice === undefined ? 'set TTS_VOICE to one' : 'name one'} of espeak-ng --voices, such as en-us, or leave it out.`,
      voice === undefined ? {} : { code: 'validation_failed' },
    );
  if (voice !== undefined) return voice;
  const preferredLanguage =
    language ?? (hubVoice === null ? languageOfScript.find(([script]) => script.test(text))?.[1] : undefined);
  if (preferredLanguage === undefined) return isKnown(hubVoice) ? hubVoice : 'en';
  const parts = preferredLanguage.toLowerCase().split('-');
  const primary = languageAliases[parts[0] ?? ''] ?? parts[0] ?? '';
  if (isKnown(hubVoice) && hubVoice.toLowerCase().split(/[-+]/)[0] === primary) return hubVoice;
  const names = [[primary, ...parts.slice(1)].join('-'), `${primary}-${parts.at(-1)}`, primary];
  const candidates = [...names, ...[...known].filter((name) => name.startsWith(`${primary}-`)), hubVoice, 'en'];
  return candidates.find(isKnown) ?? 'en';
}

/** A semaphore for programs. Callers wait in order of arrival. */
class ProgramSlots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(capacity: number) {
    this.#free = capacity;
  }

  /** @throws the reason of the signal when it aborts while waiting. */
  async acquire(signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#wait(signal);
    return { [Symbol.dispose]: () => this.#release() };
  }

  #release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }

  async #wait(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    try {
      await raceAbort(promise, signal);
    } catch (error) {
      const index = this.#waiting.indexOf(resolve);
      // The slot was assigned at the moment of the abort, so pass it on.
      if (index < 0) this.#release();
      else this.#waiting.splice(index, 1);
      throw error;
    }
  }
}

/** Resolves with the work, or rejects with the reason of the signal, whichever comes first. */
async function raceAbort<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    signal.throwIfAborted();
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
