import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { toSpokenText } from '../../../../shared/spoken-text.ts';
import { failureText } from '../failures.ts';
import type { Turn } from '../turns.ts';
import { TurnLatency } from './latency.tsx';
import type { PartProps } from './part-props.ts';

/** Within this distance from its end, the list scrolls with new text, in pixels. */
const followWithinPx = 80;

/** The turns of the conversation. */
export function Transcript({ state }: PartProps) {
  const { language, turns, isSoundOn, problem } = state;
  const { words } = language;
  const scroller = useRef<HTMLDivElement>(null);
  const isFollowing = useRef(true);
  const follow = () => {
    const list = scroller.current;
    // An empty list has no end to scroll to.
    if (list !== null && isFollowing.current && list.querySelector('.turn') !== null)
      list.scrollTop = list.scrollHeight;
  };
  useLayoutEffect(follow, [turns]);
  useEffect(() => {
    const observer = new ResizeObserver(follow);
    if (scroller.current !== null) observer.observe(scroller.current);
    return () => observer.disconnect();
  }, []);
  const onScroll = () => {
    const list = scroller.current;
    if (list !== null) isFollowing.current = list.scrollHeight - list.clientHeight - list.scrollTop < followWithinPx;
  };
  return (
    <div ref={scroller} class="scroller" role="region" tabIndex={0} aria-label={words.transcript} onScroll={onScroll}>
      {turns.length === 0 && problem === null && (
        <div class="empty">
          <p>{words.empty}</p>
          <p class="soft">{words.emptyKept}</p>
        </div>
      )}
      {/* Screen readers do not announce answers that are played aloud. */}
      <div role="log" aria-label={words.transcript} aria-live={isSoundOn ? 'off' : 'polite'} aria-relevant="additions">
        {turns.map((turn) => (
          <TurnView key={turn.id} turn={turn} state={state} />
        ))}
      </div>
    </div>
  );
}

function TurnView({ turn, state: { language } }: { turn: Turn; state: PartProps['state'] }) {
  const { words } = language;
  const { user, assistant, isDone, isInterrupted, failure, latency, firstSoundMs } = turn;
  const outcome = failure !== '' ? failureText(failure, words) : isInterrupted ? words.interrupted : '';
  return (
    <article class="turn" data-turn={turn.id} data-done={isDone}>
      {user !== '' && (
        <div class="row own">
          <h2>{words.you}</h2>
          <p class="bubble" dir="auto">
            {user}
          </p>
        </div>
      )}
      {assistant !== '' && (
        // A growing answer is hidden from screen readers. The complete one is a new element, so that it is announced
        // once.
        <div key={isDone ? 'whole' : 'partial'} class="row other" aria-hidden={!isDone}>
          <h2>{words.assistant}</h2>
          <p class="bubble" dir="auto">
            {toSpokenText(assistant)}
          </p>
        </div>
      )}
      {outcome !== '' && <p class={failure === '' ? 'fate' : 'fate failure'}>{outcome}</p>}
      {latency !== null && <TurnLatency latency={latency} firstSoundMs={firstSoundMs} language={language} />}
    </article>
  );
}
