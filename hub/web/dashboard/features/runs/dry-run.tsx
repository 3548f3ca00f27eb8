import type { DryRun } from '../../../../../shared/client/operations.ts';
import { nodeSelection } from '../../../../../shared/node-selection.ts';
import type { NodeSelection } from '../../../../../shared/node-selection.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { useLanguage } from '../../app/language.tsx';
import { useIsolate } from '../../ui/isolate.ts';
import { shortId, useNodeNames } from '../../ui/object-links.tsx';
import { Pill } from '../../ui/status.tsx';

/** The node that the input of a step selects; null without one. */
function selectionOf(input: DryRun['steps'][number]['input']): NodeSelection | null {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return null;
  return nodeSelection(input);
}

function OnNode({ node, names }: { node: NodeSelection | null; names: ReadonlyMap<string, string> }) {
  const { words, format } = useLanguage();
  const isolate = useIsolate();
  if (node === null) return null;
  if ('tag' in node) return <> · {format(words.runs.previewTag, { tag: isolate(visibleLine(node.tag)) })}</>;
  const name = 'name' in node ? node.name : (names.get(node.id) ?? shortId(node.id));
  return <> · {format(words.runs.previewNode, { node: isolate(visibleLine(name)) })}</>;
}

/** What each step of a run would do. */
export function DryRunResult({ result: { runnable, steps } }: { result: DryRun }) {
  const { words, format } = useLanguage();
  const texts = words.runs;
  const names = useNodeNames(steps.some(({ input }) => 'id' in (selectionOf(input) ?? {})));
  return (
    <section className="mb-3 rounded-(--radius-medium) border p-3" role="status">
      <h3 className="mb-1">{texts.previewTitle}</h3>
      <p className={`mb-2 text-sm ${runnable ? 'text-success' : 'text-danger'}`}>
        {runnable ? texts.previewOk : texts.previewProblems}
      </p>
      <ol className="flex max-h-72 list-decimal flex-col gap-1.5 overflow-y-auto ps-6 text-sm">
        {steps.map(({ index, id, type, skillId, input, effect, willRun, needsApproval, problems, unresolved }) => (
          <li key={index} className="wrap-anywhere">
            <code>{visibleLine(id ?? skillId ?? type)}</code> {visibleLine(effect)}
            <OnNode node={selectionOf(input)} names={names} />{' '}
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
