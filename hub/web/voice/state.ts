import type { VoiceConfigChange } from '../../../shared/contract/ai/voice.ts';
import { Store } from '../../../shared/web/store.ts';
import type { SignedInUser, Problem } from './hub.ts';
import type { Language } from './language.ts';
import type { MicrophoneNotice } from './microphone.ts';
import type { Turn } from './turns.ts';

/** Something that is told beside the talk. */
export type Notice = { kind: 'notHeard' | 'tooLong' | 'failed' } | { kind: 'hub'; code: string };

/** A device as the page lists it. */
export interface Device {
  id: string;
  label: string;
}

/** All that the page shows, but for levels, which change too often. */
export interface VoiceState {
  language: Language;
  /** Null until it is known. */
  signedInUser: SignedInUser | null;
  /** Why there is no talk; null for nothing. */
  problem: Problem | null;
  connection: 'connecting' | 'open' | 'lost';
  microphone: 'closed' | 'opening' | 'open';
  microphoneProblem: MicrophoneNotice | null;
  notice: Notice | null;
  /** Whether the hub finds out by itself when somebody speaks. */
  isHandsFree: boolean;
  /** Whether what the microphone hears is for the hub. */
  isListening: boolean;
  /** Whether something was sent of which nothing came back yet. */
  isAwaitingReply: boolean;
  isPlaying: boolean;
  /** Whether answers are played. */
  isSoundOn: boolean;
  turns: readonly Turn[];
  /** In which is talked; empty for whatever it is. */
  spokenLanguage: string;
  /** With which is answered; empty for that of the hub. */
  voice: string;
  microphones: readonly Device[];
  speakers: readonly Device[];
  /** Empty for that of the system. */
  microphoneId: string;
  speakerId: string;
}

export class VoiceStore extends Store<VoiceState> {}

/** A turn that the hub is still at. */
export const openTurn = ({ turns }: VoiceState): Turn | null => turns.findLast(({ isDone }) => !isDone) ?? null;

/** What the page does now, in one word. */
export function activityOf(
  state: VoiceState,
): 'connecting' | 'opening' | 'listening' | 'thinking' | 'speaking' | 'ready' {
  if (state.connection !== 'open') return 'connecting';
  if (state.microphone === 'opening') return 'opening';
  if (state.isListening && !state.isHandsFree) return 'listening';
  if (state.isPlaying) return 'speaking';
  const turn = openTurn(state);
  // Where nothing was understood yet, the person is still speaking.
  if (state.isListening && turn !== null && turn.user === '') return 'listening';
  if (state.isAwaitingReply || turn !== null) return 'thinking';
  return state.isListening ? 'listening' : 'ready';
}

/** Whether there is an answer that could be stopped. */
export const canInterrupt = (state: VoiceState): boolean =>
  state.isPlaying || state.isAwaitingReply || openTurn(state) !== null;

/** What the hub is told of how it is talked. */
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
