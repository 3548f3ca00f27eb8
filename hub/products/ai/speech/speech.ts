/** Sound as all of speech passes it on: PCM, signed 16 bits, little-endian, one channel; an even number of bytes. */
export interface Speech {
  pcm: Uint8Array;
  /** Samples a second. */
  sampleRate: number;
}

export interface TranscriptionRequest extends Speech {
  /** A language by BCP 47, where it is known. */
  language?: string | undefined;
  signal: AbortSignal;
}

export interface Transcription {
  /** Empty where nothing was said. */
  text: string;
  /** How long it took. */
  ms: number;
}

/** Writes down what is said. */
export interface SpeechToText {
  /**
   * All of it within 20 s, with one further try where a failure may pass. What is silent or shorter than a tenth of a second is no speech, and nobody is asked.
   * @throws SpeechFailed, or the signal's reason; the connection is closed within 50 ms.
   */
  transcribe(request: TranscriptionRequest): Promise<Transcription>;
}

export interface SpeakRequest {
  text: string;
  /** A language by BCP 47; found out by the script of the text when left out, where the voice needs to know. */
  language?: string | undefined;
  /** A voice by the name that the binding knows it by, which fails where it has none of that name; its own when left out. */
  voice?: string | undefined;
  signal: AbortSignal;
}

/** Says a text. */
export interface TextToSpeech {
  /**
   * The sound of a text, in parts as they come, all of one rate; none for a text without a word. All of it within 30 s, the time of a slow reader included.
   * One further try is made where a failure may pass and no part went out. Whoever stops early, by `return` or by the signal, closes the connection or ends the program.
   * @throws SpeechFailed, or the signal's reason.
   */
  speak(request: SpeakRequest): AsyncIterable<Speech>;
  /** Whether it has a voice of that name; left out where only speaking with it shows that. @throws as `speak`. */
  hasVoice?(name: string, signal: AbortSignal): Promise<boolean>;
}

/** The ears and the voice of a hub; null where none is set. */
export interface SpeechBindings {
  speechToText: SpeechToText | null;
  textToSpeech: TextToSpeech | null;
}
