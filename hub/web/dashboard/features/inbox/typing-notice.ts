import { useEffect, useMemo } from 'react';
import { useInboxLive } from './live.tsx';

/** Typing is repeated at most this often. */
const noticeMs = 3_000;
/** Typing has stopped after this time without input. */
const idleMs = 5_000;

/** Tells the visitor and colleagues while the agent types a reply. */
export function useTypingNotice(conversationId: string) {
  const { connection } = useInboxLive();
  const notice = useMemo(() => {
    let notifiedAt = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = () => {
      clearTimeout(timer);
      if (notifiedAt === 0) return;
      notifiedAt = 0;
      connection.typing(conversationId, false);
    };
    return {
      stop,
      onInput() {
        clearTimeout(timer);
        timer = setTimeout(stop, idleMs);
        if (Date.now() - notifiedAt < noticeMs) return;
        notifiedAt = Date.now();
        connection.typing(conversationId, true);
      },
    };
  }, [connection, conversationId]);
  useEffect(() => notice.stop, [notice]);
  return notice;
}
