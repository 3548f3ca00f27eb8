import type { CallRecord } from '../../../shared/contract/calls/records.ts';
import { Store } from '../../../shared/web/store.ts';
import type { MicrophoneNotice } from '../voice/microphone.ts';
import type { Device } from '../voice/state.ts';
import type { Account, SignedInUser, Problem } from './hub.ts';
import type { Language } from './language.ts';
import type { Outcome } from './outcomes.ts';
import type { Colleague, Peer } from './peers.ts';
import type { Quality } from './quality.ts';

/** The call that is, as the page shows it. */
export interface CallView {
  direction: 'inbound' | 'outbound';
  peer: Peer;
  phase: 'opening' | 'calling' | 'ringing' | 'incoming' | 'connecting' | 'talking';
  /** Since when is talked, in milliseconds since 1970. */
  since: number;
  isMuted: boolean;
  isHeld: boolean;
  isHeldByOther: boolean;
  /** Whether no sound found its way for long. */
  isBroken: boolean;
  /** Keys that were sent. */
  digits: string;
  quality: Quality | null;
}

/** The call that was, until the next one. */
export interface LastCall {
  peer: Peer;
  outcome: Outcome;
  /** Of talk; null where none was. */
  seconds: number | null;
}

export interface MissedCall {
  id: number;
  peer: Peer;
  at: Date;
}

/** Missed calls that are shown. */
const maxMissed = 50;

/** With one more of them. */
export const addMissedCall = (missed: readonly MissedCall[], peer: Peer): readonly MissedCall[] =>
  [{ id: (missed[0]?.id ?? 0) + 1, peer, at: new Date() }, ...missed].slice(0, maxMissed);

/** All that the page shows, but for levels, which change too often. */
export interface PhoneState {
  language: Language;
  /** Null until it is known. */
  signedInUser: SignedInUser | null;
  account: Account | null;
  /** Why nobody can be called; null for nothing. */
  problem: Problem | null;
  connection: 'connecting' | 'ready' | 'lost';
  call: CallView | null;
  last: LastCall | null;
  /** Newest first. */
  missed: readonly MissedCall[];
  colleagues: readonly Colleague[];
  /** Null until they were read, or where that failed. */
  records: readonly CallRecord[] | null;
  /** What is written to be called. */
  dialled: string;
  /** Whether nobody can be called by it. */
  isDialledInvalid: boolean;
  microphoneProblem: MicrophoneNotice | null;
  /** Whether the browser wants a click before it plays what is heard. */
  isSoundBlocked: boolean;
  microphones: readonly Device[];
  speakers: readonly Device[];
  /** Empty for that of the system. */
  microphoneId: string;
  speakerId: string;
}

export class PhoneStore extends Store<PhoneState> {}

/** Whether somebody could be called now. */
export const canCall = ({ connection, call, problem }: PhoneState): boolean =>
  connection === 'ready' && call === null && problem === null;
