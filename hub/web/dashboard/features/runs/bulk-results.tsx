import { visibleLine } from '../../../../../shared/visible-text.ts';
import { useLanguage } from '../../app/language.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { TextLink } from '../../ui/layout.tsx';
import { shortId } from '../../ui/object-links.tsx';
import { Pill } from '../../ui/status.tsx';
import type { BulkState } from './use-bulk.ts';

/** Results that the dialog lists of each kind. */
const shownResults = 100;

/** The result of a bulk operation, run by run; refused runs come first. A retry leads to its new run, which may fail. */
export function BulkResults({
  state: { kind, done, succeeded, refused, error },
  names,
  onClose,
}: {
  state: BulkState;
  /** Names of the workflows of loaded runs. */
  names: ReadonlyMap<string, string>;
  onClose: () => void;
}) {
  const { words, format } = useLanguage();
  const texts = words.runs;
  return (
    <Dialog title={texts.resultsTitle} isWide onClose={onClose}>
      <ErrorNote error={error} />
      <p className="mb-2" role="status">
        {done === 1 ? texts.resultsOne[kind] : format(texts.results[kind], { count: done })}{' '}
        {refused.length > 0 && format(texts.resultsFailed, { count: refused.length })}
      </p>
      <ul className="mb-3 max-h-96 overflow-y-auto">
        {[...refused.slice(0, shownResults), ...succeeded.slice(0, shownResults)].map(({ id, ok, runId, message }) => (
          <li key={id} className="flex flex-wrap items-center gap-x-2 gap-y-0.5 border-b py-1.5 last:border-b-0">
            <TextLink to="/runs/$runId" params={{ runId: runId ?? id }}>
              {visibleLine(names.get(id) ?? '')} <code>{shortId(runId ?? id)}</code>
            </TextLink>
            {ok ? (
              <Pill tone="neutral">{texts.resultOk[kind]}</Pill>
            ) : (
              <span className="text-sm wrap-anywhere text-danger">{message}</span>
            )}
          </li>
        ))}
      </ul>
      {refused.length > shownResults && (
        <p className="mb-3 text-text-muted">{format(texts.resultsCut, { count: shownResults })}</p>
      )}
      <div className="flex justify-end">
        <Button onClick={onClose}>{words.common.close}</Button>
      </div>
    </Dialog>
  );
}
