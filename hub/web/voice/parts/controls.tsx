import { Level } from '../../kit/level.tsx';
import { activityOf, canInterrupt } from '../state.ts';
import { StopIcon } from './icons.tsx';
import type { PartProps } from './part-props.ts';
import { TalkButton } from './talk-button.tsx';

/** The talk button, the current activity and the stop button. */
export function Controls({ session, state }: PartProps) {
  const { language, isHandsFree, microphone } = state;
  const { words } = language;
  const activity = activityOf(state);
  return (
    <div class="controls">
      <p class="activity" role="status" data-activity={activity}>
        {words[activity]}
      </p>
      <div class="buttons">
        <label class="switch">
          <input
            type="checkbox"
            role="switch"
            checked={isHandsFree}
            disabled={activity === 'unavailable' && !isHandsFree}
            aria-describedby="hint"
            onChange={({ currentTarget }) => session.setHandsFree(currentTarget.checked)}
          />
          <span>{words.handsFree}</span>
        </label>
        <TalkButton session={session} state={state} />
        <button
          type="button"
          class="second stop"
          aria-label={words.interrupt}
          aria-keyshortcuts="Escape"
          disabled={!canInterrupt(state)}
          onClick={() => session.interrupt()}
        >
          <StopIcon />
          <span>{words.stop}</span>
        </button>
      </div>
      <Level levels={session.levels} side="microphone" label={words.level} isOn={microphone === 'open'} />
      {/* After the first turn the hint is hidden, to save space on small screens. Hands-free, it explains that no button is needed. */}
      <p id="hint" class={isHandsFree || state.turns.length === 0 ? 'soft hint' : 'visually-hidden'}>
        {isHandsFree ? words.handsFreeHint : words.holdHint}
      </p>
    </div>
  );
}
