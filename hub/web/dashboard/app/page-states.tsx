import type { ErrorComponentProps } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { background } from '../../../../shared/web/background.ts';
import { Button, ButtonLink } from '../ui/button.tsx';
import { ErrorNote } from '../ui/error.tsx';
import { Page } from '../ui/layout.tsx';
import { useWords } from './language.tsx';
import { doesHubRespond, MissingScript } from './lazy-page.ts';
import { currentAddress, keepTypedTexts } from './typed-texts.ts';

export function NotFound() {
  const { common } = useWords();
  return (
    <Page title={common.notFound}>
      <p className="mb-3 text-text-muted">{common.notFoundText}</p>
      <ButtonLink to="/">{common.toHome}</ButtonLink>
    </Page>
  );
}

const nextProbeMs = 3_000;

/** Loads the page again as soon as the hub responds: browsers may remember that a script could not be loaded. */
function useReloadWhenHubResponds(isWaiting: boolean): void {
  useEffect(() => {
    if (!isWaiting) return;
    let timer: ReturnType<typeof setTimeout>;
    let isOver = false;
    const probe = async () => {
      if (await doesHubRespond()) {
        if (!isOver) location.reload();
      } else if (!isOver) timer = setTimeout(() => background(probe()), nextProbeMs);
    };
    timer = setTimeout(() => background(probe()), nextProbeMs);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [isWaiting]);
}

/**
 * A script of the page is missing, after an upgrade or because the hub does not respond. What the user typed is kept for
 * the page that is loaded again.
 */
function OldPage({ isReplaced }: { isReplaced: boolean }) {
  const { common } = useWords();
  // While this is rendered for the first time, the fields of the page are still there.
  const [address] = useState(keepTypedTexts);
  const isElsewhere = address !== null && address !== currentAddress();
  // A user whose text is kept for another page chooses where to go.
  const opensByItself = !isReplaced && !isElsewhere;
  useReloadWhenHubResponds(opensByItself);
  return (
    <Page title={isReplaced ? common.updated : common.hubSilent}>
      {(isReplaced || opensByItself) && (
        <p className="mb-3 text-text-muted">{isReplaced ? common.updatedText : common.hubSilentText}</p>
      )}
      {address !== null && <p className="mb-3 text-text-muted">{isElsewhere ? common.keptBefore : common.keptHere}</p>}
      <div className="flex flex-wrap gap-2">
        {!opensByItself && (
          <Button variant="primary" onClick={() => location.reload()}>
            {common.reload}
          </Button>
        )}
        {isElsewhere && <Button onClick={() => location.assign(address)}>{common.toTyped}</Button>}
      </div>
    </Page>
  );
}

export function PageError({ error, reset }: ErrorComponentProps) {
  const { common } = useWords();
  if (error instanceof MissingScript) return <OldPage isReplaced={error.isReplaced} />;
  return (
    <Page title={common.pageFailed}>
      <div className="max-w-prose">
        <ErrorNote error={error} />
        <Button onClick={reset}>{common.tryAgain}</Button>
      </div>
    </Page>
  );
}
