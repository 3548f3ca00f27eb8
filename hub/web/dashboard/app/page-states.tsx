import type { ErrorComponentProps } from '@tanstack/react-router';
import { useState } from 'react';
import { Button, ButtonLink } from '../ui/button.tsx';
import { ErrorNote } from '../ui/error.tsx';
import { Page } from '../ui/layout.tsx';
import { useWords } from './language.tsx';
import { MissingScript } from './lazy-page.ts';
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

/** A script of the page is missing after an upgrade. What the user typed is kept for the page that is loaded again. */
function OldPage() {
  const { common } = useWords();
  // While this is rendered for the first time, the fields of the page are still there.
  const [address] = useState(keepTypedTexts);
  const isElsewhere = address !== null && address !== currentAddress();
  return (
    <Page title={common.updated}>
      <p className="mb-3 text-text-muted">{common.updatedText}</p>
      {address !== null && <p className="mb-3 text-text-muted">{isElsewhere ? common.keptBefore : common.keptHere}</p>}
      <div className="flex flex-wrap gap-2">
        <Button variant="primary" onClick={() => location.reload()}>
          {common.reload}
        </Button>
        {isElsewhere && <Button onClick={() => location.assign(address)}>{common.toTyped}</Button>}
      </div>
    </Page>
  );
}

export function PageError({ error, reset }: ErrorComponentProps) {
  const { common } = useWords();
  if (error instanceof MissingScript) return <OldPage />;
  return (
    <Page title={common.pageFailed}>
      <div className="max-w-prose">
        <ErrorNote error={error} />
        <Button onClick={reset}>{common.tryAgain}</Button>
      </div>
    </Page>
  );
}
