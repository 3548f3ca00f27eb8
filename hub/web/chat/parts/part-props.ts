import type { Chat } from '../chat.ts';
import type { ChatState } from '../state.ts';

/** What every part of the page is given. */
export interface PartProps {
  chat: Chat;
  state: ChatState;
}
