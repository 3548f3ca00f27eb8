import type { VoiceConfigChange } from '../../../shared/contract/ai/voice.ts';
import { Store } from '../../../shared/web/store.ts';
import type { SignedInUser, Problem } from './hub.ts';
import type { Language } from './language.ts';
import type { MicrophoneNotice } from './microphone.ts';
import type { Turn } from './turns.ts';

/** A message shown in addition to the conversation. */
export type Notice = { kind: 'notHeard' | 'tooLong' | 'failed' } | { kind: 'hub'; code: string };

/** A microphone or loudspeaker in the settings. */
export interface Device {
  id: string;
  label: string;
}

/** The state that the page shows, except the audio levels, which change too often. */
export interface VoiceState {
  language: Language;
  /** Null until the hub has reported the user. */
  signedInUser: SignedInUser | null;
  /** Why voice is unavailable; null when it is available. */
  problem: Problem | null;
  connection: 'connecting' | 'open' | 'lost';
  microphone: 'closed' | 'opening' | 'open';
  microphoneProblem: MicrophoneNotice | null;
  notice: Notice | null;
  /** Whether the hub detects the start and end of speech. */
  isHandsFree: boolean;
  /** Whether the microphone's audio is recorded or sent. */
  isListening: boolean;
  /** Whether input was sent and no frame about it has arrived yet. */
  isAwaitingReply: boolean;
  isPlaying: boolean;
  /** Whether answers are played aloud. */
  isSoundOn: boolean;
  turns: readonly Turn[];
  /** The language that the user speaks; empty for automatic detection. */
  spokenLanguage: string;
  /** The voice of the answers; empty for the default of the hub. */
  voice: string;
  microphones: readonly Device[];
  speakers: readonly Device[];
  /** Empty for the system default. */
  microphoneId: string;
  speakerId: string;
}

export class VoiceStore extends Store<VoiceState> {}

/** Returns the latest turn in progress, or null. */
export const openTurn = ({ turns }: VoiceState): Turn | null => turns.findLast(({ isDone }) => !isDone) ?? null;

/** Returns the current activity. */
export function activityOf(
  state: VoiceState,
): 'connecting' | 'opening' | 'listening' | 'thinking' | 'speaking' | 'ready' | 'unavailable' {
  if (state.connection !== 'open') return 'connecting';
  if (state.microphone === 'opening') return 'opening';
  if (state.isListening && !state.isHandsFree) return 'listening';
  if (state.isPlaying) return 'speaking';
  const turn = openTurn(state);
  // Before the first transcript, the user is still speaking.
  if (state.isListening && turn !== null && turn.user === '') return 'listening';
  if (state.isAwaitingReply || turn !== null) return 'thinking';
  if (state.isListening) return 'listening';
  return state.problem === null ? 'ready' : 'unavailable';
}

/** Whether there is an answer to stop. */
export const canInterrupt = (state: VoiceState): boolean =>
  state.isPlaying || state.isAwaitingReply || openTurn(state) !== null;

/** Returns the configuration frame for the current settings. */
export const configOf = (
  { isHandsFree, spokenLanguage, voice }: VoiceState,
  sampleRate: number,
): VoiceConfigChange => ({
  sampleRate,
  language: spokenLanguage || null,
  voice: voice || null,
  turnDetection: { type: isHandsFree ? 'server_vad' : 'none' },
  partial: isHandsFree,
  transcript: true,
});
