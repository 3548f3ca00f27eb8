import { Problem, Retry, SignIn } from '../../kit/problem.tsx';
import type { Problem as ProblemName } from '../hub.ts';
import type { PartProps } from './part-props.ts';

const canRetry: readonly ProblemName[] = ['unreachable', 'notConfigured', 'notOptedIn'];

/** Messages about problems, each with what the user can do. */
export function Problems({ phone, state }: PartProps) {
  const { language, problem, microphoneProblem, connection, call, isSoundBlocked } = state;
  const { words } = language;
  const retry = () => phone.retry();
  return (
    <div class="problems" role="alert">
      {problem !== null && (
        <Problem name={problem} title={words[`${problem}Title`]} text={words[`${problem}Text`]}>
          {(problem === 'signedOut' || problem === 'ended') && <SignIn words={words} back="/phone" />}
          {problem === 'notOptedIn' && (
            <a class="second" href="docs">
              {words.reference}
            </a>
          )}
          {canRetry.includes(problem) && <Retry label={words.retry} onRetry={retry} />}
        </Problem>
      )}
      {problem === null && connection === 'lost' && (
        <Problem name="lost" text={call?.phase === 'talking' ? words.reconnectingInCall : words.reconnecting}>
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
      {isSoundBlocked && (
        <Problem name="sound" text={words.soundBlocked}>
          <Retry label={words.playSound} onRetry={() => phone.playSound()} />
        </Problem>
      )}
    </div>
  );
}
