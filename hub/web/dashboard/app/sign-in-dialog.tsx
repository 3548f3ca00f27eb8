import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { background } from '../../../../shared/web/background.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Field, Input } from '../ui/form.tsx';
import { CodeBlock } from '../ui/value.tsx';
import { client } from './api.ts';
import { useWords } from './language.tsx';
import { sessionState } from './session-state.ts';
import { useSession } from './session.tsx';
import { useStore } from './use-store.ts';

/** Signs the browser in with a password. @returns the status of the response; 303 when the hub accepted it. */
async function signIn(form: FormData): Promise<number> {
  // The page sets the cookie and redirects. A redirect that is not followed has the status 0.
  const response = await fetch('/sign-in', {
    method: 'POST',
    body: new URLSearchParams([...form].map(([name, value]) => [name, String(value)])),
    redirect: 'manual',
  });
  return response.type === 'opaqueredirect' ? 303 : response.status;
}

/** Lets the user sign in again over the page when the session ended, so that nothing on the page is lost. */
export function SignInDialog() {
  const words = useWords().common;
  const { isExpired } = useStore(sessionState);
  const { user, tenantId } = useSession();
  const cache = useQueryClient();
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const resume = async () => {
    const now = await client.call('readMe');
    if (now.user.id !== user.id || now.tenantId !== tenantId) {
      setProblem(words.otherUser);
      location.reload();
      return;
    }
    sessionState.set({ isExpired: false });
    await cache.invalidateQueries();
  };
  // Another tab, such as one that a sign-in link opened, may have signed the browser in.
  useEffect(() => {
    if (!isExpired) return;
    const check = () => {
      if (document.visibilityState === 'visible') background(resume().catch(() => undefined));
    };
    document.addEventListener('visibilitychange', check);
    addEventListener('focus', check);
    return () => {
      document.removeEventListener('visibilitychange', check);
      removeEventListener('focus', check);
    };
  }, [isExpired]);
  if (!isExpired) return null;
  const submit = async (form: FormData) => {
    setBusy(true);
    setProblem(null);
    try {
      const status = await signIn(form);
      if (status !== 303) {
        setProblem(status === 429 ? words.tooManySignIns : status >= 500 ? words.noConnection : words.signInFailed);
        return;
      }
      await resume();
    } catch {
      setProblem(words.noConnection);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog title={words.signInAgain} isClosable={false} onClose={() => undefined}>
      <p className="mb-3 text-text-muted">{words.signInAgainText}</p>
      {user.hasPassword ? (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            background(submit(new FormData(event.currentTarget)));
          }}
        >
          <Field label={words.email}>
            {(attributes) => (
              <Input
                {...attributes}
                name="email"
                type="email"
                autoComplete="username"
                defaultValue={user.email}
                required
              />
            )}
          </Field>
          <Field label={words.password} error={problem}>
            {(attributes) => (
              <Input
                {...attributes}
                name="password"
                type="password"
                autoComplete="current-password"
                required
                autoFocus
              />
            )}
          </Field>
          <div className="flex justify-end">
            <Button variant="primary" type="submit" isBusy={isBusy}>
              {words.signIn}
            </Button>
          </div>
        </form>
      ) : (
        <>
          <p className="mb-2">{words.signInByLink}</p>
          <CodeBlock text="npx outrigger link" label={words.signInByLink} />
          {problem !== null && <p role="alert">{problem}</p>}
        </>
      )}
    </Dialog>
  );
}
