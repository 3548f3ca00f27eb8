import { Problem, Retry, SignIn } from '../../kit/problem.tsx';
import { failureText } from '../failures.ts';
import type { Problem as ProblemName } from '../hub.ts';
import type { PartProps } from './part-props.ts';

const retryableProblems: readonly ProblemName[] = ['busyHub', 'unreachable', 'notConfigured'];

/** Shows the current problems with the actions that solve them. */
export function Problems({ session, state }: PartProps) {
  const { language, problem, microphoneProblem, connection, notice, signedInUser } = state;
  const { words, format } = language;
  const retry = () => session.retry();
  return (
    <div class="problems" role="alert">
      {problem !== null && (
        <Problem name={problem} title={words[`${problem}Title`]} text={words[`${problem}Text`]}>
          {(problem === 'signedOut' || problem === 'ended') && <SignIn words={words} back="/voice" />}
          {retryableProblems.includes(problem) && <Retry label={words.retry} onRetry={retry} />}
        </Problem>
      )}
      {problem === null && connection === 'lost' && (
        <Problem name="lost" text={signedInUser === null ? words.unreachableText : words.reconnecting}>
          <Retry label={words.reconnectNow} onRetry={retry} />
        </Problem>
      )}
      {microphoneProblem !== null && (
        <Problem
          name={`microphone-${microphoneProblem}`}
          title={words[`${microphoneProblem}Title`]}
          text={words[`${microphoneProblem}Text`]}
        />
      )}
      {notice !== null && (
        <Problem
          name={notice.kind}
          text={notice.kind === 'hub' ? failureText(notice.code, words) : format(words[notice.kind], { seconds: 60 })}
        />
      )}
    </div>
  );
}
