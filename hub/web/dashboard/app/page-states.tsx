import type { ErrorComponentProps } from '@tanstack/react-router';
import { Button, ButtonLink } from '../ui/button.tsx';
import { ErrorNote } from '../ui/error.tsx';
import { Page } from '../ui/layout.tsx';
import { useWords } from './language.tsx';

export function NotFound() {
  const { common } = useWords();
  return (
    <Page title={common.notFound}>
      <p className="mb-3 text-text-muted">{common.notFoundText}</p>
      <ButtonLink to="/">{common.toHome}</ButtonLink>
    </Page>
  );
}

/** A script of the page could not be loaded: an upgrade of the hub has replaced it. */
const isOldScript = (error: unknown) =>
  error instanceof TypeError && /dynamically imported module|importing a module script/i.test(error.message);

export function PageError({ error, reset }: ErrorComponentProps) {
  const { common } = useWords();
  if (isOldScript(error))
    return (
      <Page title={common.updated}>
        <p className="mb-3 text-text-muted">{common.updatedText}</p>
        <Button variant="primary" onClick={() => location.reload()}>
          {common.reload}
        </Button>
      </Page>
    );
  return (
    <Page title={common.pageFailed}>
      <div className="max-w-prose">
        <ErrorNote error={error} />
        <Button onClick={reset}>{common.tryAgain}</Button>
      </div>
    </Page>
  );
}
