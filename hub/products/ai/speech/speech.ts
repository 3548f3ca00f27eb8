/** Sound as PCM: signed 16 bits, little-endian, one channel, an even number of bytes. */
export interface Speech {
  pcm: Uint8Array;
  /** Samples per second. */
  sampleRate: number;
}

export interface TranscriptionRequest extends Speech {
  /** A BCP 47 language tag, if known. */
  language?: string | undefined;
  signal: AbortSignal;
}

export interface Transcription {
  /** Empty if the sound has no words. */
  text: string;
  /** Duration of the transcription in milliseconds. */
  ms: number;
}

/** A speech-to-text provider. */
export interface SpeechToText {
  /**
   * Transcribes a sound within 20 s, including one retry of a retryable failure. A sound that is silent or shorter than
   * 0.1 s returns an empty text without calling the provider.
   * @throws SpeechFailed, or the reason of the signal. After an abort the connection is closed within 50 ms.
   */
  transcribe(request: TranscriptionRequest): Promise<Transcription>;
}

export interface SpeakRequest {
  text: string;
  /** A BCP 47 language tag. By default a voice that needs a language derives it from the script of the text. */
  language?: string | undefined;
  /** A voice name of the provider. By default the configured voice. An unknown name fails. */
  voice?: string | undefined;
  signal: AbortSignal;
}

/** A text-to-speech provider. */
export interface TextToSpeech {
  /**
   * Yields the sound of a text in parts of the same sample rate. A text without a letter or digit yields nothing.
   * The time limit is 30 s, including the time of a slow reader. A retryable failure is retried once if no part was
   * yielded. If the reader stops early or the signal aborts, the connection is closed or the program is killed.
   * @throws SpeechFailed, or the reason of the signal.
   */
  speak(request: SpeakRequest): AsyncIterable<Speech>;
  /** Whether a voice exists. Undefined if the provider can only report that while speaking. @throws as `speak`. */
  hasVoice?(name: string, signal: AbortSignal): Promise<boolean>;
}

/** The configured speech providers. Null if a stage is not configured. */
export interface SpeechBindings {
  speechToText: SpeechToText | null;
  textToSpeech: TextToSpeech | null;
}
