import type { VoiceState } from '../state.ts';
import type { Talk } from '../talk.ts';

/** What every part of the page is given. */
export interface PartProps {
  talk: Talk;
  state: VoiceState;
}
