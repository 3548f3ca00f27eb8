import { useEffect } from 'preact/hooks';
import { useStore } from '../../kit/store.ts';
import type { VoiceStore } from '../state.ts';
import type { Talk } from '../talk.ts';
import { Controls } from './controls.tsx';
import { Problems } from './problems.tsx';
import { Settings } from './settings.tsx';
import { TextForm } from './text-form.tsx';
import { Transcript } from './transcript.tsx';

/** Keeps a text in its own direction from turning those around it. */
const isolated = (text: string) => `\u2068${text}\u2069`;

export function App({ talk, store }: { talk: Talk; store: VoiceStore }) {
  const state = useStore(store);
  const { language, person, problem } = state;
  const { words, say } = language;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || event.isComposing) return;
      if (!store.state.isHandsFree) talk.cancelUtterance();
      talk.interrupt();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [talk, store]);
  const isUsable = problem === null || problem === 'notConfigured';
  return (
    <main class="voice">
      <header>
        <h1>{words.title}</h1>
        {person !== null && (
          <p>{say(words.signedIn, { email: isolated(person.email), workspace: isolated(person.workspaceName) })}</p>
        )}
        <nav>
          <a href="./">Outrigger</a>
          {person !== null && problem !== 'ended' && (
            <form method="post" action="sign-out">
              <input type="hidden" name="to" value="/voice" />
              <button type="submit">{words.signOut}</button>
            </form>
          )}
        </nav>
      </header>
      <Problems talk={talk} state={state} />
      <Transcript talk={talk} state={state} />
      {isUsable && (
        <div class="dock">
          <Controls talk={talk} state={state} />
          <TextForm talk={talk} state={state} />
          <Settings talk={talk} state={state} />
        </div>
      )}
    </main>
  );
}
