import type { VisitorSession } from '../../../shared/contract/chat/visitor-page.ts';
import type { ConversationOptions } from './conversation-options.ts';
import { Conversation } from './conversation.ts';
import { FileUrls } from './file-urls.ts';
import { Session } from './session.ts';
import { Uploads } from './uploads.ts';
import type { Upload } from './uploads.ts';

export interface OpenChatOptions extends Pick<
  ConversationOptions,
  'store' | 'storage' | 'isVisible' | 'onIncoming' | 'onContinued' | 'onRefused'
> {
  /** The hub issued a new token for the session. */
  onRenewed: (session: VisitorSession) => void;
  /** The conversation was closed before this text was sent. */
  onReturned: (text: string) => void;
}

/** The parts of the chat that depend on one session and end with it. */
export class OpenChat implements Disposable {
  readonly session: Session;
  readonly fileUrls: FileUrls;
  readonly uploads: Uploads;
  readonly conversation: Conversation;

  constructor(initialSession: VisitorSession, { store, storage, onRenewed, onReturned, ...options }: OpenChatOptions) {
    const session = new Session(initialSession, {
      onRenewed: (renewed) => {
        onRenewed(renewed);
        this.conversation.update(renewed.conversation);
      },
      onRefused: options.onRefused,
    });
    this.session = session;
    this.fileUrls = new FileUrls(() => session.token);
    this.uploads = new Uploads(
      () => session.token,
      (uploads: readonly Upload[]) => store.set({ uploads }),
    );
    this.conversation = new Conversation({
      session,
      store,
      storage,
      conversation: initialSession.conversation,
      onReturned: (text, attachments) => {
        onReturned(text);
        this.uploads.restore(attachments);
      },
      ...options,
    });
  }

  [Symbol.dispose](): void {
    this.conversation.end();
    this.session.end();
    this.uploads.end();
    this.fileUrls.end();
  }
}
