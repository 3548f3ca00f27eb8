import { failureText } from '../failures.ts';
import type { Problem } from '../hub.ts';
import type { PartProps } from './part-props.ts';

const canRetry: readonly Problem[] = ['busyHub', 'unreachable', 'notConfigured'];
/** Where the page leads to sign in, and from there back. */
const signInPath = 'sign-in?to=/voice';

/** Says in words what stands in the way, and what to do. */
export function Problems({ talk, state }: PartProps) {
  const { language, problem, microphoneProblem, connection, notice, person } = state;
  const { words, say } = language;
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
            <button type="button" class="second" onClick={() => talk.retry()}>
              {words.retry}
            </button>
          )}
        </section>
      )}
      {isLost && (
        <section data-problem="lost">
          <p>{person === null ? words.unreachableText : words.reconnecting}</p>
          <button type="button" class="second" onClick={() => talk.retry()}>
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
      {notice !== null && (
        <section data-problem={notice.kind}>
          <p>{notice.kind === 'hub' ? failureText(notice.code, words) : say(words[notice.kind], { seconds: 60 })}</p>
        </section>
      )}
    </div>
  );
}
