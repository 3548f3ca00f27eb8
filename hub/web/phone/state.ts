import type { CallRecord } from '../../../shared/contract/calls/records.ts';
import { Store } from '../../../shared/web/store.ts';
import type { MicrophoneNotice } from '../voice/microphone.ts';
import type { Device } from '../voice/state.ts';
import type { Account, SignedInUser, Problem } from './hub.ts';
import type { Language } from './language.ts';
import type { Outcome } from './outcomes.ts';
import type { Colleague, Peer } from './peers.ts';
import type { Quality } from './quality.ts';

/** The current call, as the page shows it. */
export interface CallView {
  direction: 'inbound' | 'outbound';
  peer: Peer;
  phase: 'opening' | 'calling' | 'ringing' | 'incoming' | 'connecting' | 'talking';
  /** When the call was answered, in milliseconds since 1970. 0 before that. */
  since: number;
  isMuted: boolean;
  isHeld: boolean;
  isHeldByOther: boolean;
  /** Whether the media path has been down for so long that the page warns. */
  isBroken: boolean;
  /** Keypad keys sent in this call. */
  digits: string;
  quality: Quality | null;
}

/** The previous call, shown until the next one begins. */
export interface LastCall {
  peer: Peer;
  outcome: Outcome;
  /** Duration of the conversation. Null if the call was not answered. */
  seconds: number | null;
}

export interface MissedCall {
  id: number;
  peer: Peer;
  at: Date;
}

/** Missed calls that the page keeps. */
const maxMissed = 50;

export const addMissedCall = (missed: readonly MissedCall[], peer: Peer): readonly MissedCall[] =>
  [{ id: (missed[0]?.id ?? 0) + 1, peer, at: new Date() }, ...missed].slice(0, maxMissed);

/** Everything that the page shows, except audio levels, which change too often. */
export interface PhoneState {
  language: Language;
  /** Null until loaded. */
  signedInUser: SignedInUser | null;
  account: Account | null;
  /** Why calls are not possible. Null if they are. */
  problem: Problem | null;
  connection: 'connecting' | 'ready' | 'lost';
  call: CallView | null;
  last: LastCall | null;
  /** Newest first. */
  missed: readonly MissedCall[];
  colleagues: readonly Colleague[];
  /** Null until loaded, and if loading failed. */
  records: readonly CallRecord[] | null;
  /** Text of the dial field. */
  dialled: string;
  /** Whether the text of the dial field is not a valid number, address or colleague. */
  isDialledInvalid: boolean;
  microphoneProblem: MicrophoneNotice | null;
  /** Whether the browser requires a click before it plays audio. */
  isSoundBlocked: boolean;
  microphones: readonly Device[];
  speakers: readonly Device[];
  /** Empty for the system default. */
  microphoneId: string;
  speakerId: string;
}

export class PhoneStore extends Store<PhoneState> {}

/** Whether a call can be started now. */
export const canCall = ({ connection, call, problem }: PhoneState): boolean =>
  connection === 'ready' && call === null && problem === null;
