import type { Prompt, PromptAnswer } from '../../shared/companion/state.ts';
import { useAction, useArmed, useNow, useStore } from './companion-context.tsx';
import { ActionError, Badge, Button, Line, Notice } from './controls.tsx';
import { ExactText } from './exact-text.tsx';
import { Decision } from './modal.tsx';
import { count, countdownOf } from './words.ts';

const shownStdin = 4_000;

function WhatRuns({ prompt }: { prompt: Prompt }) {
  const { argv, env, stdin } = prompt;
  const variables = Object.entries(env);
  return (
    <dl className="facts exact">
      <dt>Program</dt>
      <dd>
        <ExactText text={prompt.program} />
      </dd>
      <dt>Command line</dt>
      <dd>
        <ol className="argv" aria-label="Command line, word by word">
          {argv.map((word, index) => (
            // Words have no identity but their place.
            <li key={index}>
              <ExactText text={JSON.stringify(word)} />
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
          <span className="hint">Nothing is added.</span>
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
      <dt>Input</dt>
      <dd>
        {stdin === null ? (
          <span className="hint">None.</span>
        ) : (
          <>
            <div className="hint">
              {count(stdin.length)} characters
              {stdin.length > shownStdin && `, of which the first ${count(shownStdin)} are shown`}
            </div>
            <pre className="stdin" tabIndex={0} aria-label="Input of the program">
              <ExactText text={stdin.slice(0, shownStdin)} isMultiLine />
            </pre>
          </>
        )}
      </dd>
      <dt>Approved by</dt>
      <dd>
        {prompt.approvedBy === null ? (
          <span className="hint">The hub names nobody.</span>
        ) : (
          <>
            <Line text={prompt.approvedBy} /> <span className="hint">says the hub</span>
          </>
        )}
      </dd>
    </dl>
  );
}

function PromptDecision({ prompt, waiting }: { prompt: Prompt; waiting: number }) {
  const store = useStore();
  const action = useAction();
  const isArmed = useArmed();
  const now = useNow(250);
  const left = Date.parse(prompt.expiresAt) - now;
  const answer = (given: PromptAnswer) =>
    void action.run(async () => {
      store.setState(await store.call('answerPrompt', { promptId: prompt.id, answer: given }));
    });
  /** Says yes, so neither by a key or click that was under way when the dialog came up. */
  const allow = (given: PromptAnswer) => ({
    'aria-disabled': !isArmed || action.isBusy,
    onClick: () => {
      if (isArmed) answer(given);
    },
  });
  return (
    <Decision isOpen isUrgent isWide title="May this program run?" onClose={() => isArmed && answer('deny')}>
      <div className="prompt-head">
        <span className={`countdown ${left < 15_000 ? 'soon' : ''}`} role="timer">
          {countdownOf(left)} left, then it is refused
        </span>
        {waiting > 0 && <Badge>{waiting === 1 ? '1 more waits' : `${count(waiting)} more wait`}</Badge>}
      </div>
      {prompt.reason === 'program_changed' && (
        <Notice tone="warning" title="This program has changed">
          You decided about it before, but its file has other contents now.
        </Notice>
      )}
      <div className="prompt-body">
        <WhatRuns prompt={prompt} />
      </div>
      <ActionError action={action} title="Your answer did not arrive" />
      <div className="prompt-end">
        <div className="prompt-answers">
          <Button look="danger" size="big" disabled={action.isBusy} onClick={() => answer('deny')}>
            Deny
          </Button>
          <Button look="main" size="big" {...allow('once')}>
            Allow once
          </Button>
        </div>
        <div className="prompt-answers more">
          <Button disabled={action.isBusy} onClick={() => answer('never')}>
            Never allow this
          </Button>
          <Button {...allow('30_minutes')}>Allow for 30 minutes</Button>
          <Button {...allow('always')}>Always allow exactly this</Button>
        </div>
      </div>
    </Decision>
  );
}

/** Asks the owner about one program after the other; each begins anew, so that no click meant for one answers the next. */
export function Prompts({ prompts }: { prompts: readonly Prompt[] }) {
  const [first] = prompts;
  return first === undefined ? null : <PromptDecision key={first.id} prompt={first} waiting={prompts.length - 1} />;
}
