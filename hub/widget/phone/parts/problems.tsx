import type { Problem } from '../hub.ts';
import type { PartProps } from './part-props.ts';

const canRetry: readonly Problem[] = ['unreachable', 'notConfigured', 'notOptedIn'];
/** Where the page leads to sign in, and from there back. */
const signInPath = 'sign-in?to=/phone';

/** Says in words what stands in the way, and what to do. */
export function Problems({ phone, state }: PartProps) {
  const { language, problem, microphoneProblem, connection, call, isSoundBlocked } = state;
  const { words } = language;
  const isLost = problem === null && connection === 'lost';
  return (
    <div class="problems" role="alert">
      {problem !== null && (
        <section data-problem={problem}>
          <h2>{words[`${problem}Title`]}</h2>
          <p>{words[`${problem}Text`]}</p>
          {(problem === 'signedOut' || problem === 'ended') && (
            <a class="main" href={signInPath}>
              {words.signIn}
            </a>
          )}
          {canRetry.includes(problem) && (
            <button type="button" class="second" onClick={() => phone.retry()}>
              {words.retry}
            </button>
          )}
        </section>
      )}
      {isLost && (
        <section data-problem="lost">
          <p>{call?.phase === 'talking' ? words.reconnectingInCall : words.reconnecting}</p>
          <button type="button" class="second" onClick={() => phone.retry()}>
            {words.reconnectNow}
          </button>
        </section>
      )}
      {microphoneProblem !== null && (
        <section data-problem={`microphone-${microphoneProblem}`}>
          <h2>{words[`${microphoneProblem}Title`]}</h2>
          <p>{words[`${microphoneProblem}Text`]}</p>
        </section>
      )}
      {isSoundBlocked && (
        <section data-problem="sound">
          <p>{words.soundBlocked}</p>
          <button type="button" class="second" onClick={() => phone.playSound()}>
            {words.playSound}
          </button>
        </section>
      )}
    </div>
  );
}
