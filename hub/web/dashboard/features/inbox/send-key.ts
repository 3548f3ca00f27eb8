import type { KeyboardEvent } from 'react';
import { isComposing } from './key-rule.ts';

/** Whether a key sends the text of a field: Ctrl+Enter, or Enter alone if the agent has chosen that. */
export function isSendKey(event: KeyboardEvent, enterSends: boolean): boolean {
  if (event.key !== 'Enter' || event.shiftKey || isComposing(event.nativeEvent)) return false;
  return event.ctrlKey || event.metaKey || (enterSends && !event.altKey);
}
