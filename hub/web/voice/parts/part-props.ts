import type { VoiceState } from '../state.ts';
import type { VoiceSession } from '../voice-session.ts';

/** What every part of the page is given. */
export interface PartProps {
  session: VoiceSession;
  state: VoiceState;
}
