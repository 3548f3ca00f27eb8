import { useEffect } from 'preact/hooks';
import { useStore } from '../../kit/store.ts';
import type { Chat } from '../chat.ts';
import type { Store } from '../state.ts';
import { Assistant } from './assistant.tsx';
import { ClosedConversation } from './closed.tsx';
import { Composer } from './composer.tsx';
import { Header } from './header.tsx';
import { MessageList } from './message-list.tsx';
import type { PartProps } from './part-props.ts';
import { ProblemPage } from './problem-page.tsx';
import { StartForm } from './start-form.tsx';

export function App({ chat, store }: { chat: Chat; store: Store }) {
  const state = useStore(store);
  const { phase, isEmbedded } = state;
  useEffect(() => {
    if (!isEmbedded) return undefined;
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key === 'Escape' && document.querySelector('dialog[open]') === null && !event.isComposing) chat.close();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, [chat, isEmbedded]);
  return (
    <div class="chat">
      <Header chat={chat} state={state} />
      {phase === 'loading' && <div class="loading" aria-busy="true" />}
      {phase === 'problem' && <ProblemPage chat={chat} state={state} />}
      {phase === 'start' && <StartForm chat={chat} state={state} />}
      {phase === 'chat' && <ConversationView chat={chat} state={state} />}
    </div>
  );
}

function ConversationView({ chat, state }: PartProps) {
  const { settings, conversation, isConnected, language } = state;
  const isClosed = conversation?.status === 'closed';
  // Read during the render, while the focused element still exists.
  const hadComposerFocus = isClosed && document.activeElement?.matches('.composer *') === true;
  return (
    <main class="talk">
      <div class="notices" role="status">
        {!isConnected && <p class="notice lost">{language.words.reconnecting}</p>}
        {isConnected && settings !== null && !settings.open && settings.awayMessage !== '' && (
          <p class="notice" dir="auto">
            {settings.awayMessage}
          </p>
        )}
      </div>
      <MessageList chat={chat} state={state} />
      <Assistant chat={chat} state={state} />
      {isClosed ? (
        <ClosedConversation chat={chat} state={state} takesFocus={hadComposerFocus} />
      ) : (
        <Composer chat={chat} state={state} />
      )}
    </main>
  );
}
