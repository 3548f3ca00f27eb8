import type { ErrorComponentProps } from '@tanstack/react-router';
import { Button, ButtonLink } from '../ui/button.tsx';
import { ErrorNote } from '../ui/error.tsx';
import { Empty } from '../ui/layout.tsx';
import { useWords } from './language.tsx';

export function NotFound() {
  const { common } = useWords();
  return (
    <Empty title={common.notFound}>
      <p className="mb-3">{common.notFoundText}</p>
      <ButtonLink to="/">{common.toHome}</ButtonLink>
    </Empty>
  );
}

/** A script of the page could not be loaded: an upgrade of the hub has replaced it. */
const isOldScript = (error: unknown) =>
  error instanceof TypeError && /dynamically imported module|importing a module script/i.test(error.message);

export function PageError({ error, reset }: ErrorComponentProps) {
  const { common } = useWords();
  if (isOldScript(error))
    return (
      <Empty title={common.updated}>
        <p className="mb-3">{common.updatedText}</p>
        <Button variant="primary" onClick={() => location.reload()}>
          {common.reload}
        </Button>
      </Empty>
    );
  return (
    <div className="max-w-prose">
      <ErrorNote error={error} title={common.pageFailed} />
      <Button onClick={reset}>{common.tryAgain}</Button>
    </div>
  );
}
