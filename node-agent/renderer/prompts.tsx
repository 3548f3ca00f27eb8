import { Fragment, memo, useCallback, useEffect, useMemo, useState } from 'react';
import { describeOrigin } from '../../shared/companion/origin-labels.ts';
import { programWarnings } from '../../shared/companion/program-warnings.ts';
import type { Prompt, PromptAnswer } from '../../shared/companion/state.ts';
import { useAction, useArmed, useNow, useStore } from './companion-context.tsx';
import { ActionError, Badge, Button, Line, Notice } from './controls.tsx';
import { ExactText } from './exact-text.tsx';
import { Decision } from './modal.tsx';
import { count, countdownOf, durationOf } from './words.ts';

/** Tolerance in pixels for rounding at the end of a scrolled box. */
const endSlack = 4;

/**
 * Whether the end of a box was visible at least once, by scrolling or because all of it fits. Pass the returned
 * function to the box as its ref.
 */
function useScrolledToEnd(): [isSeen: boolean, box: (element: HTMLElement | null) => void] {
  const [isSeen, setSeen] = useState(false);
  const [element, setElement] = useState<HTMLElement | null>(null);
  useEffect(() => {
    if (element === null || isSeen) return undefined;
    const check = () => {
      const { scrollHeight, scrollTop, clientHeight } = element;
      if (clientHeight > 0 && scrollHeight - scrollTop - clientHeight <= endSlack) setSeen(true);
    };
    const observer = new ResizeObserver(check);
    observer.observe(element);
    element.addEventListener('scroll', check, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', check);
    };
  }, [element, isSeen]);
  return [isSeen, setElement];
}

const shortHash = (hash: string) => (hash.length > 24 ? `${hash.slice(0, 12)}…${hash.slice(-8)}` : hash);

interface ProgramDetailsProps {
  prompt: Prompt;
  onInputSeen: () => void;
}

function Input({ stdin, onSeen }: { stdin: string; onSeen: () => void }) {
  const [isSeen, box] = useScrolledToEnd();
  useEffect(() => {
    if (isSeen) onSeen();
  }, [isSeen, onSeen]);
  return (
    <>
      <div className="hint">{stdin.length === 1 ? '1 character' : `${count(stdin.length)} characters`}</div>
      <pre className="stdin" ref={box} tabIndex={0} aria-label="Input of the program">
        <ExactText text={stdin} isMultiLine />
      </pre>
    </>
  );
}

/** Memoized, because the countdown renders often and the input may be long. */
const ProgramDetails = memo(function ProgramDetails({ prompt, onInputSeen }: ProgramDetailsProps) {
  const { argv, env, stdin } = prompt;
  const variables = Object.entries(env);
  return (
    <dl className="facts exact">
      <dt>Program</dt>
      <dd>
        <ExactText text={prompt.program} />
        <details className="hash">
          <summary title={prompt.programSha256}>
            SHA-256 <code>{shortHash(prompt.programSha256)}</code>
          </summary>
          <ExactText text={prompt.programSha256} />
        </details>
      </dd>
      <dt>Command line</dt>
      <dd>
        <ol className="argv" aria-label="Command line, one argument per line">
          {argv.map((arg, index) => (
            // Arguments have no identity other than their position.
            <li key={index}>
              {arg.includes('\n') ? <ExactText text={arg} isMultiLine /> : <ExactText text={JSON.stringify(arg)} />}
            </li>
          ))}
        </ol>
      </dd>
      <dt>Folder</dt>
      <dd>
        <ExactText text={prompt.cwd} />
      </dd>
      <dt>Environment</dt>
      <dd>
        {variables.length === 0 ? (
          <span className="hint">No additional variables.</span>
        ) : (
          <ul className="argv plain">
            {variables.map(([name, value]) => (
              <li key={name}>
                <ExactText text={`${name}=${JSON.stringify(value)}`} />
              </li>
            ))}
          </ul>
        )}
      </dd>
      <dt>Time limit</dt>
      <dd>{durationOf(prompt.timeoutMs)}, then the program is ended</dd>
      {describeOrigin(prompt.origin, prompt.approvedBy).map(([name, words]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>
            <Line text={words} />
          </dd>
        </Fragment>
      ))}
      <dt>Input</dt>
      <dd>{stdin === null ? <span className="hint">None.</span> : <Input stdin={stdin} onSeen={onInputSeen} />}</dd>
    </dl>
  );
});

function PromptDecision({ prompt, waiting }: { prompt: Prompt; waiting: number }) {
  const store = useStore();
  const action = useAction();
  const isArmed = useArmed();
  const now = useNow(250);
  const [isBodySeen, body] = useScrolledToEnd();
  const [isInputSeen, setInputSeen] = useState(prompt.stdin === null);
  const [isConfirmedSeen, setConfirmedSeen] = useState(false);
  const seeInput = useCallback(() => setInputSeen(true), []);
  const warnings = useMemo(() => programWarnings(prompt.argv), [prompt.argv]);
  const isSeen = isConfirmedSeen || (isBodySeen && isInputSeen);
  const left = Date.parse(prompt.expiresAt) - now;
  const sendAnswer = (answer: PromptAnswer) =>
    action.run(async () => {
      store.setState(await store.call('answerPrompt', { promptId: prompt.id, answer }));
    });
  /** Props of the buttons that allow. They ignore clicks until the dialog accepts input and all content was seen. */
  const allow = (answer: PromptAnswer) => ({
    'aria-disabled': !isArmed || !isSeen || action.isBusy,
    onClick: () => {
      if (isArmed && isSeen) sendAnswer(answer);
    },
  });
  const head = (
    <div className="prompt-head">
      <span className={`countdown ${left < 15_000 ? 'soon' : ''}`} role="timer">
        {countdownOf(left)} left, then it is denied
      </span>
      {waiting > 0 && <Badge>{waiting === 1 ? '1 more waits' : `${count(waiting)} more wait`}</Badge>}
    </div>
  );
  const foot = (
    <>
      <ActionError action={action} title="Your answer was not delivered" />
      {!isSeen && (
        <div className="prompt-seen">
          <span>To allow it, scroll to the end of everything that would run.</span>
          <Button
            size="small"
            aria-disabled={!isArmed}
            onClick={() => {
              if (isArmed) setConfirmedSeen(true);
            }}
          >
            I have seen all of it
          </Button>
        </div>
      )}
      <div className="prompt-answers">
        <Button size="big" disabled={action.isBusy} onClick={() => action.run(() => store.change({ change: 'pause' }))}>
          {waiting > 0 ? 'Refuse all and pause' : 'Refuse and pause'}
        </Button>
        <Button variant="danger" size="big" disabled={action.isBusy} onClick={() => sendAnswer('deny')}>
          Deny
        </Button>
        <Button variant="main" size="big" {...allow('once')}>
          Allow once
        </Button>
      </div>
      <div className="prompt-answers more">
        <Button disabled={action.isBusy} onClick={() => sendAnswer('never')}>
          Never allow this
        </Button>
        <Button {...allow('30_minutes')}>Allow for 30 minutes</Button>
        <Button {...allow('always')}>Always allow exactly this</Button>
      </div>
    </>
  );
  return (
    <Decision
      isOpen
      isUrgent
      isWide
      title="May this program run?"
      frame={{ head, foot }}
      onClose={() => isArmed && sendAnswer('deny')}
    >
      <div className="prompt-body" ref={body} tabIndex={0} role="region" aria-label="What would run">
        {prompt.reason === 'program_changed' && (
          <Notice tone="warning" title="This program has changed">
            You decided about it before, but its file has changed since.
          </Notice>
        )}
        {prompt.reason === 'other_folder' && (
          <Notice tone="plain" title="Your rule allows this in another folder">
            A rule with a pattern applies in your home folder or in the folder that you named for it, and never in a
            folder that receives downloads.
          </Notice>
        )}
        {warnings.map((warning) => (
          <Notice key={warning} tone="warning" title="This runs code from its arguments">
            <Line text={warning} />
          </Notice>
        ))}
        <ProgramDetails prompt={prompt} onInputSeen={seeInput} />
      </div>
    </Decision>
  );
}

/** Asks the owner about one program at a time. Each prompt is a new dialog, so that no click answers the next prompt. */
export function Prompts({ prompts }: { prompts: readonly Prompt[] }) {
  const [first] = prompts;
  return first === undefined ? null : <PromptDecision key={first.id} prompt={first} waiting={prompts.length - 1} />;
}
