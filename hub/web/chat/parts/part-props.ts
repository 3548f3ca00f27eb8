import type { Chat } from '../chat.ts';
import type { ChatState } from '../state.ts';

/** Props of every part of the page. */
export interface PartProps {
  chat: Chat;
  state: ChatState;
}
