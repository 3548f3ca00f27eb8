export { SpeechFailed } from './failure.ts';
export type { SpeechFailure } from './failure.ts';
export { openSpeech } from './open-speech.ts';
export type { SpeechSettings } from './open-speech.ts';
export { Resampler } from './resample.ts';
export { SentenceSplitter } from './sentences.ts';
export { SoundReader, SoundTooLong, UnreadableSound, isSilent, readSound } from './sound.ts';
export type { Speech, SpeechBindings, SpeechToText, TextToSpeech } from './speech.ts';
export type { SpeechCall } from './retry.ts';
