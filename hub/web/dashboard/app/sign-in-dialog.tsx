import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { background } from '../../../../shared/web/background.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Field, Input } from '../ui/form.tsx';
import { useLanguage } from './language.tsx';
import { renewNotificationsOfBrowser } from './renew-notifications.ts';
import { checkSession, sessionState } from './session-state.ts';
import { announceSession, useSession, useSessionWatch } from './session.tsx';
import { useStore } from './use-store.ts';

/**
 * Signs the browser in with a password. An `Idempotency-Key` belongs to a caller, and the caller is not known before the
 * sign-in; a repeated one only starts another session. @returns the status of the response; 303 when the hub accepted it.
 */
async function signIn(form: FormData): Promise<number> {
  // The page sets the cookie and redirects. A redirect that is not followed has the status 0.
  const response = await fetch('/sign-in', {
    method: 'POST',
    body: new URLSearchParams([...form].map(([name, value]) => [name, String(value)])),
    redirect: 'manual',
  });
  return response.type === 'opaqueredirect' ? 303 : response.status;
}

/**
 * Lets the user sign in again over the page when the session ended, or when the browser is signed in as another user, so
 * that nothing on the page is lost.
 */
export function SignInDialog() {
  const { words: allWords, format } = useLanguage();
  const words = allWords.common;
  const { problem } = useStore(sessionState);
  const { user } = useSession();
  const cache = useQueryClient();
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  useSessionWatch();
  const before = useRef(problem);
  useEffect(() => {
    // The user may have signed in again in another tab.
    if (before.current !== null && problem === null) {
      background(cache.invalidateQueries());
      renewNotificationsOfBrowser(user.id);
    }
    before.current = problem;
  }, [problem, cache, user.id]);
  if (problem === null) return null;
  const submit = async (form: FormData) => {
    setBusy(true);
    setFailure(null);
    try {
      const status = await signIn(form);
      if (status === 303) {
        const isKnown = (await checkSession()) !== null || sessionState.state.problem === 'changed';
        if (!isKnown) setFailure(words.noConnection);
        announceSession();
      } else
        setFailure(status === 429 ? words.tooManySignIns : status >= 500 ? words.noConnection : words.signInFailed);
    } catch {
      setFailure(words.noConnection);
    } finally {
      setBusy(false);
    }
  };
  const isChanged = problem === 'changed';
  return (
    <Dialog title={isChanged ? words.sessionChanged : words.signInAgain} isClosable={false} onClose={() => undefined}>
      <p className="mb-3 text-text-muted">
        {isChanged ? format(words.sessionChangedText, { email: user.email }) : words.signInAgainText}
      </p>
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
          <Field label={words.password} error={failure}>
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
          <div className="flex items-center justify-end gap-2">
            {isChanged && <Button onClick={() => location.reload()}>{words.reload}</Button>}
            <Button variant="primary" type="submit" isBusy={isBusy}>
              {words.signIn}
            </Button>
          </div>
        </form>
      ) : (
        <>
          <p className="mb-2">{words.signInByLink}</p>
          <code className="block rounded-(--radius-medium) bg-surface-muted p-3 text-sm select-all">
            npx outrigger link
          </code>
          {isChanged && (
            <div className="mt-3 flex justify-end">
              <Button onClick={() => location.reload()}>{words.reload}</Button>
            </div>
          )}
        </>
      )}
    </Dialog>
  );
}
