import type { VoiceState } from '../state.ts';
import type { VoiceSession } from '../voice-session.ts';

/** Props of every part of the page. */
export interface PartProps {
  session: VoiceSession;
  state: VoiceState;
}
