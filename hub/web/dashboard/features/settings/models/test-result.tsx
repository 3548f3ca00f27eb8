import { visibleLine } from '../../../../../../shared/visible-text.ts';
import type { Answer } from '../../../app/api.ts';
import { useLanguage } from '../../../app/language.tsx';
import { ErrorNote } from '../../../ui/error.tsx';

/** What came of the test of a model. */
export function TestResult({
  result,
  error,
}: {
  result: Answer<'testAutomationModel'> | undefined;
  error: Error | null;
}) {
  const { words, format, duration } = useLanguage();
  const text = words.settings.models;
  return (
    <div role="status" className="px-3.5 empty:hidden">
      {error !== null && <ErrorNote error={error} />}
      {error === null && result !== undefined && (
        <p className={`pb-2.5 text-sm wrap-anywhere ${result.answered ? 'text-success' : 'text-danger'}`}>
          {result.answered
            ? format(text.testAnswered, { time: duration(result.latencyMs) })
            : format(text.testFailed, { outcome: visibleLine(result.outcome) })}
          {result.detail !== null && <span className="block">{visibleLine(result.detail)}</span>}
        </p>
      )}
    </div>
  );
}
