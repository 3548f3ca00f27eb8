import { ApiError } from '../../../../shared/client/client.ts';
import { useLanguage } from '../app/language.tsx';
import { Button } from './button.tsx';

/** The message of a failure, and the remedy that the hub names. */
export function useErrorText(): (error: unknown) => string {
  const { words } = useLanguage();
  return (error) => {
    if (error instanceof ApiError) return error.message;
    if (error instanceof TypeError) return words.common.noConnection;
    return error instanceof Error ? error.message : String(error);
  };
}

/** The field of a detail, without the part of the request: `payload.city` of `body.payload.city`. */
const fieldOf = (path: string) => path.replace(/^(body|query|params)\.(?=.)/, '');

/** Why an action failed, with the fields that the hub names and the id of the request. Nothing without an error. */
export function ErrorNote({ error, title }: { error: unknown; title?: string }) {
  const { words, format } = useLanguage();
  const textOf = useErrorText();
  if (error === null || error === undefined) return null;
  const details = error instanceof ApiError ? error.details : [];
  const text = textOf(error);
  const [first] = details;
  const isRepeated = first !== undefined && text.startsWith(`${first.path} ${first.message}`);
  const requestId = error instanceof ApiError ? error.requestId : null;
  return (
    <div role="alert" className="my-2 rounded-(--radius-medium) bg-danger-muted px-3 py-2 text-danger">
      {title !== undefined && <p className="font-semibold">{title}</p>}
      {!isRepeated && (
        <p dir="auto" className="wrap-anywhere whitespace-pre-line">
          {text}
        </p>
      )}
      {details.length > 0 && (
        <ul className="list-disc ps-5 text-sm">
          {details.map(({ path, message }) => (
            <li key={`${path} ${message}`} className="wrap-anywhere">
              <code>{fieldOf(path)}</code> {message}
            </li>
          ))}
        </ul>
      )}
      {requestId !== null && <p className="mt-1 text-xs">{format(words.common.requestId, { id: requestId })}</p>}
    </div>
  );
}

/** Replaces content that could not be loaded. */
export function LoadError({ error, onRetry }: { error: unknown; onRetry: () => unknown }) {
  const { common } = useLanguage().words;
  return (
    <div className="p-4">
      <ErrorNote error={error} title={common.couldNotLoad} />
      <Button onClick={onRetry}>{common.tryAgain}</Button>
    </div>
  );
}
