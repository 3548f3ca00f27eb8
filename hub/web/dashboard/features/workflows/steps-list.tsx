import { useQuery } from '@tanstack/react-query';
import type { JsonObject, Step } from '../../../../../shared/client/operations.ts';
import { nodeSelection } from '../../../../../shared/node-selection.ts';
import { visibleLine, visibleText } from '../../../../../shared/visible-text.ts';
import { query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { TextLink } from '../../ui/layout.tsx';
import { shortId } from '../../ui/object-links.tsx';
import { CodeBlock } from '../../ui/value.tsx';

/** Texts of a step that fit into the list; the JSON view has them whole. */
const shownCharacters = 300;

const cut = (text: string) => visibleText(text.length > shownCharacters ? `${text.slice(0, shownCharacters)}…` : text);

/** What a step does, in its own words. */
function summaryOf(step: Step): string {
  switch (step.type) {
    case 'skill':
      return '';
    case 'log':
      return step.message;
    case 'approval':
      return step.title;
    case 'agent':
      return step.prompt;
    case 'deliver':
      return `${step.provider} → ${step.to}\n${step.text}`;
  }
}

/** The node of a step: an id, a name, a tag or a template. */
function NodeOf({ input }: { input: JsonObject }) {
  const { words, format } = useLanguage();
  const { onNode, onNodeWithTag } = words.workflows;
  const selection = nodeSelection(input);
  const id = selection !== null && 'id' in selection && !selection.id.includes('{{') ? selection.id : null;
  const node = useQuery({
    ...query('getAutomationNode', { params: { id: id ?? '' } }),
    enabled: id !== null,
    retry: false,
    staleTime: 300_000,
  });
  if (id !== null)
    return (
      <TextLink to="/nodes/$nodeId/{-$tab}" params={{ nodeId: id }}>
        {format(onNode, { node: visibleLine(node.data?.name ?? shortId(id)) })}
      </TextLink>
    );
  if (selection === null) return null;
  if (!('tag' in selection)) {
    const name = 'name' in selection ? selection.name : selection.id;
    return <span>{format(onNode, { node: visibleLine(name) })}</span>;
  }
  const { tag } = selection;
  const text = format(onNodeWithTag, { tag: visibleLine(tag) });
  if (tag.includes('{{')) return <span>{text}</span>;
  return (
    <TextLink to="/nodes" search={{ tag }}>
      {text}
    </TextLink>
  );
}

function Options({ step }: { step: Step }) {
  const { words, format, duration } = useLanguage();
  const texts = words.workflows;
  const { delaySeconds, retry, continueOnError } = step;
  const options = [
    delaySeconds !== undefined && delaySeconds > 0 && format(texts.delay, { time: duration(delaySeconds * 1000) }),
    retry !== undefined && format(texts.retry, { count: retry.maxAttempts }),
    continueOnError === true && texts.continues,
    step.type === 'approval' &&
      step.approvers !== undefined &&
      format(texts.approvers, { names: visibleLine(step.approvers.join(', ')) }),
  ].filter((text) => text !== false);
  return options.length === 0 ? null : <p className="text-sm text-text-muted">{options.join(' · ')}</p>;
}

function StepItem({ step, number }: { step: Step; number: number }) {
  const { words } = useLanguage();
  const texts = words.workflows;
  const { name, id, when } = step;
  const summary = summaryOf(step);
  const title = name ?? (step.type === 'skill' ? step.skillId : texts.stepType[step.type]);
  return (
    <li className="relative flex gap-3 border-s-2 ps-5 pb-4 last:pb-0">
      <span
        aria-hidden
        className="absolute -start-3 top-0 flex size-5.5 items-center justify-center rounded-full border bg-surface text-xs font-semibold"
      >
        {number}
      </span>
      <div className="min-w-0 flex-1">
        <h3 className="flex flex-wrap items-center gap-x-2 wrap-anywhere">
          {visibleLine(title)}
          {id !== undefined && <code className="font-normal text-text-muted">{id}</code>}
        </h3>
        <p className="flex flex-wrap gap-x-1.5 text-sm text-text-muted">
          {name === undefined && step.type !== 'skill' ? null : (
            <span>
              {step.type === 'skill' && name !== undefined ? visibleLine(step.skillId) : texts.stepType[step.type]}
            </span>
          )}
          {step.type === 'skill' && step.input !== undefined && <NodeOf input={step.input} />}
        </p>
        {when !== undefined && (
          <p className="mt-1 text-sm">
            {texts.when} <code className="rounded-sm bg-surface-muted px-1 wrap-anywhere">{visibleLine(when)}</code>
          </p>
        )}
        {summary !== '' && <p className="mt-1 text-sm whitespace-pre-line wrap-anywhere">{cut(summary)}</p>}
        <Options step={step} />
        {step.type === 'skill' && step.input !== undefined && Object.keys(step.input).length > 0 && (
          <details className="mt-1">
            <summary className="text-sm text-accent">{texts.input}</summary>
            <CodeBlock label={texts.input} text={JSON.stringify(step.input, null, 2)} />
          </details>
        )}
      </div>
    </li>
  );
}

/** The steps of a workflow as a list, in the order in which they run. */
export function StepsList({ steps }: { steps: readonly Step[] }) {
  return (
    <ol className="ms-3">
      {steps.map((step, index) => (
        <StepItem key={index} step={step} number={index + 1} />
      ))}
    </ol>
  );
}
