import { ApiError } from '../../../../../shared/client/client.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { useLanguage } from '../../app/language.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { lineAt, locate } from './json-locator.ts';

const isValidJson = (text: string) => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

/** Why the hub refused a document: each problem with its line, where a click selects it. */
export function EditorProblems({
  error,
  text,
  onSelect,
}: {
  error: unknown;
  text: string;
  onSelect: (from: number, to: number) => void;
}) {
  const { words, format } = useLanguage();
  const texts = words.workflows;
  if (!(error instanceof ApiError) || error.details.length === 0 || !isValidJson(text))
    return <ErrorNote error={error} />;
  return (
    <div role="alert" className="mt-2 rounded-(--radius-medium) bg-danger-muted px-3 py-2 text-danger">
      <p className="font-semibold">{texts.problems}</p>
      <ul className="mt-1 flex flex-col gap-0.5 text-sm">
        {error.details.map(({ path, message }) => {
          const { from, to } = locate(text, path);
          return (
            <li key={`${path} ${message}`} className="wrap-anywhere">
              <button type="button" className="underline" onClick={() => onSelect(from, to)}>
                {format(texts.line, { line: lineAt(text, from) })}
              </button>{' '}
              <code>{visibleLine(path.replace(/^body\./, ''))}</code> {visibleLine(message)}
            </li>
          );
        })}
      </ul>
      {error.requestId !== null && (
        <p className="mt-1 text-xs">{format(words.common.requestId, { id: error.requestId })}</p>
      )}
    </div>
  );
}
