import { ChatIcon, CloseIcon } from './icons.tsx';
import type { PartProps } from './part-props.ts';
import { Portrait } from './portrait.tsx';

/** Shows the title, the agent and whether an agent is online. */
export function Header({ chat, state }: PartProps) {
  const { title, conversation, language, isEmbedded, phase, isConnected, settings } = state;
  const { words } = language;
  const agent = conversation?.agentName ?? null;
  // After a lost connection the last known presence may be outdated. Outside office hours presence is not shown.
  const isPresenceKnown = isConnected && settings?.open !== false;
  const isAgentOnline = conversation?.agentOnline === true;
  return (
    <header>
      <div class="avatar" aria-hidden="true">
        <Portrait name={agent} picture={conversation?.agentPicture ?? null} fallback={<ChatIcon />} />
        {phase === 'chat' && isPresenceKnown && <i class={isAgentOnline ? 'dot there' : 'dot'} />}
      </div>
      <div class="who">
        <h1>
          <bdi>{title}</bdi>
        </h1>
        {conversation !== null && (agent !== null || isPresenceKnown) && (
          <p>
            {agent !== null && <bdi>{agent}</bdi>}
            {agent !== null && isPresenceKnown && <span aria-hidden="true"> · </span>}
            {isPresenceKnown && (isAgentOnline ? words.online : words.away)}
          </p>
        )}
      </div>
      {isEmbedded && (
        <button type="button" class="plain" aria-label={words.close} onClick={() => chat.close()}>
          <CloseIcon />
        </button>
      )}
    </header>
  );
}
