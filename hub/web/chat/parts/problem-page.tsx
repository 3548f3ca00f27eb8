import { useEffect, useRef } from 'preact/hooks';
import { background } from '../../../../shared/web/background.ts';
import { LinkOffIcon } from './icons.tsx';
import type { PartProps } from './part-props.ts';

/** Shows why the chat is unavailable. Contents of the conversation are not shown. */
export function ProblemPage({ chat, state: { problem, language } }: PartProps) {
  const { words } = language;
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (chat.mayTakeFocus) heading.current?.focus();
  }, [problem]);
  return (
    <main class="problem" data-problem={problem}>
      <div class="sign">
        <LinkOffIcon />
      </div>
      <h2 ref={heading} tabIndex={-1}>
        {words[`${problem}Title`]}
      </h2>
      <p>{words[`${problem}Text`]}</p>
      {problem === 'unreachable' && (
        <button type="button" class="main" onClick={() => background(chat.start())}>
          {words.retry}
        </button>
      )}
    </main>
  );
}
