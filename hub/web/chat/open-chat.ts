import type { VisitorSession } from '../../../shared/contract/chat/visitor-page.ts';
import { Blobs } from './blobs.ts';
import type { ConversationOptions } from './conversation-options.ts';
import { Conversation } from './conversation.ts';
import { Session } from './session.ts';
import { Uploads } from './uploads.ts';
import type { Upload } from './uploads.ts';

export interface OpenChatOptions extends Pick<
  ConversationOptions,
  'store' | 'kept' | 'isSeen' | 'onIncoming' | 'onContinued' | 'onRefused'
> {
  /** The hub gave the session another token. */
  onRenewed: (session: VisitorSession) => void;
  /** The conversation was closed before this was sent. */
  onReturned: (text: string) => void;
}

/** All that stands on one session of a visitor, and ends with it. */
export class OpenChat implements Disposable {
  readonly session: Session;
  readonly blobs: Blobs;
  readonly uploads: Uploads;
  readonly conversation: Conversation;

  constructor(made: VisitorSession, { store, kept, onRenewed, onReturned, ...options }: OpenChatOptions) {
    const session = new Session(made, {
      onRenewed: (renewed) => {
        onRenewed(renewed);
        this.conversation.update(renewed.conversation);
      },
      onRefused: options.onRefused,
    });
    this.session = session;
    this.blobs = new Blobs(() => session.token);
    this.uploads = new Uploads(
      () => session.token,
      (uploads: readonly Upload[]) => store.set({ uploads }),
    );
    this.conversation = new Conversation({
      session,
      store,
      kept,
      conversation: made.conversation,
      onReturned: (text, attachments) => {
        onReturned(text);
        this.uploads.takeBack(attachments);
      },
      ...options,
    });
  }

  [Symbol.dispose](): void {
    this.conversation.end();
    this.session.end();
    this.uploads.end();
    this.blobs.end();
  }
}
