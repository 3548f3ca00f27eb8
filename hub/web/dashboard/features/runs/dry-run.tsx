import type { DryRun } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { useLanguage } from '../../app/language.tsx';
import { Pill } from '../../ui/status.tsx';

/** What each step of a run would do. */
export function DryRunResult({ result: { runnable, steps } }: { result: DryRun }) {
  const { words, format } = useLanguage();
  const texts = words.runs;
  return (
    <section className="mb-3 rounded-(--radius-medium) border p-3" role="status">
      <h3 className="mb-1">{texts.previewTitle}</h3>
      <p className={`mb-2 text-sm ${runnable ? 'text-success' : 'text-danger'}`}>
        {runnable ? texts.previewOk : texts.previewProblems}
      </p>
      <ol className="flex max-h-72 list-decimal flex-col gap-1.5 overflow-y-auto ps-6 text-sm">
        {steps.map(({ index, id, type, skillId, effect, willRun, needsApproval, problems, unresolved }) => (
          <li key={index} className="wrap-anywhere">
            <code>{visibleLine(id ?? skillId ?? type)}</code> {visibleLine(effect)}{' '}
            {willRun !== 'yes' && (
              <Pill tone="neutral">{willRun === 'no' ? texts.previewSkips : texts.previewMaySkip}</Pill>
            )}{' '}
            {needsApproval && <Pill tone="warning">{texts.previewApproval}</Pill>}
            {unresolved.length > 0 && (
              <p className="text-text-muted">
                {format(texts.previewUnknown, { names: visibleLine(unresolved.join(', ')) })}
              </p>
            )}
            {problems.map((problem) => (
              <p key={problem} className="text-danger">
                {visibleLine(problem)}
              </p>
            ))}
          </li>
        ))}
      </ol>
    </section>
  );
}
